// A menu that drops from a button.

import { element } from "./markup.js";

/** Let a button open a menu of entries {name, label, chosen}; `onPick` gets the name. */
export function dropDown(button, entries, onPick) {
  let menu = null;
  const close = (focus) => {
    menu?.remove();
    menu = null;
    button.setAttribute("aria-expanded", "false");
    if (focus) button.focus();
  };
  button.setAttribute("aria-haspopup", "menu");
  button.addEventListener("click", () => {
    if (menu) return close();
    const items = entries().map(({ name, label, chosen }) => {
      const item = element("button", { role: "menuitemradio", "aria-checked": String(chosen), "data-name": name }, element("span", {}, label));
      item.addEventListener("click", () => {
        close(true);
        onPick(name);
      });
      return item;
    });
    items.forEach((item, place) => item.addEventListener("keydown", (event) => walk(event, items, place, close)));
    menu = element("div", { className: "menu drop", role: "menu", "aria-label": button.title }, ...items);
    button.after(menu);
    button.setAttribute("aria-expanded", "true");
    (items.find((item) => item.ariaChecked === "true") ?? items[0]).focus();
  });
  document.addEventListener("pointerdown", (event) => menu && !menu.contains(event.target) && !button.contains(event.target) && close());
}

/** Move in a menu with the arrow keys; Escape and Tab close it. */
export function walk(event, items, place, close) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) items[(place + step + items.length) % items.length].focus();
  else if (event.key === "Escape" || event.key === "Tab") close(true);
  else return;
  event.preventDefault();
  event.stopPropagation();
}
