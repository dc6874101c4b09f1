// A picture from the camera: the system's own dialogue on phones, a small window elsewhere.

/** Take a picture; resolves to a file, or to null when there is none. */
export async function photograph() {
  if (!navigator.mediaDevices || matchMedia("(pointer: coarse)").matches) {
    document.getElementById("snapshot").click(); // its change event delivers the file
    return null;
  }
  const stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment", width: { ideal: 1920 } } });
  const dialog = document.getElementById("camera");
  const video = document.getElementById("video");
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
    document.getElementById("shoot").addEventListener("click", async () => finish(await frame(video)), once);
    document.getElementById("shut").addEventListener("click", () => finish(null), once);
    dialog.addEventListener("cancel", () => finish(null), once);
  });
}

function frame(video) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [video.videoWidth, video.videoHeight];
  canvas.getContext("2d").drawImage(video, 0, 0);
  return new Promise((resolve) => canvas.toBlob((blob) => resolve(new File([blob], "photograph.jpg", { type: "image/jpeg" })), "image/jpeg", 0.92));
}
