// The ways in: a file chosen, dropped or pasted, and a picture from the camera.

import { at, complain } from "./desk.js";

/** Hand every file that comes in, by whatever way, to `open`. */
export function openDoors(open) {
  at("choose").addEventListener("click", () => at("file").click());
  for (const id of ["file", "snapshot"]) {
    at(id).addEventListener("change", (event) => {
      open([...event.target.files]);
      event.target.value = "";
    });
  }
  at("photograph").addEventListener("click", async () => {
    try {
      const file = await photograph();
      if (file) open([file]);
    } catch (error) {
      complain(`The camera cannot be used here (${error.message}).`);
    }
  });
  document.addEventListener("paste", (event) => {
    if (!event.clipboardData.files.length) return;
    event.preventDefault();
    open([...event.clipboardData.files]);
  });
  for (const name of ["dragenter", "dragover"]) {
    document.addEventListener(name, (event) => {
      event.preventDefault();
      document.body.classList.add("dragging");
    });
  }
  document.addEventListener("dragleave", (event) => event.relatedTarget ?? document.body.classList.remove("dragging"));
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("dragging");
    open([...event.dataTransfer.files]);
  });
}

/** Take a picture, with the system's own dialogue on phones; resolves to a file, or to null when there is none. */
async function photograph() {
  if (!navigator.mediaDevices || matchMedia("(pointer: coarse)").matches) {
    // Its change event delivers the file
    at("snapshot").click();
    return null;
  }
  const stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment", width: { ideal: 1920 } } });
  const dialog = at("camera");
  const video = at("video");
  try {
    video.srcObject = stream;
    dialog.showModal();
    return await choice(dialog, video);
  } finally {
    dialog.close();
    video.srcObject = null;
    stream.getTracks().forEach((track) => track.stop());
  }
}

function choice(dialog, video) {
  return new Promise((resolve) => {
    const done = new AbortController();
    const once = { signal: done.signal };
    const finish = (result) => {
      done.abort();
      resolve(result);
    };
    at("shoot").addEventListener("click", async () => finish(await frame(video)), once);
    at("shut").addEventListener("click", () => finish(null), once);
    dialog.addEventListener("cancel", () => finish(null), once);
  });
}

function frame(video) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [video.videoWidth, video.videoHeight];
  canvas.getContext("2d").drawImage(video, 0, 0);
  return new Promise((resolve) => canvas.toBlob((blob) => resolve(new File([blob], "photograph.jpg", { type: "image/jpeg" })), "image/jpeg", 0.92));
}
