// Finds the things on a page by their names. All functions are properties of one
// object, which a tab evaluates before each of its calls. A function that has no result
// yet throws an Error that says what is missing.
({
  blanks: (text) => (text || "").replace(/\s+/g, " ").trim(),

  shown: (e) => e.checkVisibility({ visibilityProperty: true, opacityProperty: false }),

  // name returns what a screen reader calls a link, a button or a field.
  name(e) {
    const by = e.getAttribute("aria-labelledby");
    if (by) return this.blanks(by.split(/\s+/).map((id) => document.getElementById(id)?.textContent).join(" "));
    if (e.hasAttribute("aria-label")) return this.blanks(e.getAttribute("aria-label"));
    if (e.labels?.length) return this.blanks([...e.labels].map((l) => this.textOf(l)).join(" "));
    if (e.matches("input[type=submit], input[type=button]")) return this.blanks(e.value);
    return this.blanks(this.textOf(e)) || this.blanks(e.title);
  },

  // textOf returns the text of a node. It includes the names of pictures, but neither
  // fields nor anything hidden from screen readers.
  textOf(e) {
    if (e.nodeType === Node.TEXT_NODE) return e.data;
    if (e.nodeType !== Node.ELEMENT_NODE) return "";
    if (e.getAttribute("aria-hidden") === "true" || e.matches("input, textarea, select, script, style")) return "";
    if (e.matches("img")) return e.alt;
    if (e.matches("svg")) return e.querySelector(":scope > title")?.textContent || e.getAttribute("aria-label") || "";
    return [...e.childNodes].map((c) => this.textOf(c)).join(e.matches("li, div, p, dt, dd") ? " " : "");
  },

  kinds: {
    control: "a[href], button, summary, input[type=submit], input[type=button], [role=button]",
    button: "button, input[type=submit]",
    field: "input:not([type=hidden]):not([type=submit]):not([type=button]), textarea, select",
  },

  all(kind) {
    return [...document.querySelectorAll(this.kinds[kind])].filter((e) => this.shown(e));
  },

  // find returns the first element of a kind with the name or, if there is none, the
  // first whose name starts with it.
  find(kind, name) {
    const all = this.all(kind);
    return all.find((e) => this.name(e) === name) || all.find((e) => this.name(e).startsWith(name));
  },

  // place returns the point at which to click on that element.
  place(kind, name) {
    const e = this.find(kind, name);
    if (!e) throw Error("there are only " + JSON.stringify(this.all(kind).map((e) => this.name(e))));
    e.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
    const box = e.getClientRects()[0];
    const x = box.x + box.width / 2, y = box.y + box.height / 2;
    const top = document.elementFromPoint(x, y);
    const hit = top && (e.contains(top) || top.contains(e) || [...(e.labels || [])].some((l) => l.contains(top)));
    if (!hit) throw Error("it is covered by " + (top ? top.outerHTML.slice(0, 200) : "nothing"));
    return { x, y };
  },

  // textIn returns the text that the first match of a selector shows.
  textIn(selector) {
    const e = document.querySelector(selector);
    if (!e) throw Error("there is no " + selector);
    return this.blanks(e.innerText);
  },

  holds(is, what) {
    if (!is) throw Error(what + " is not true");
  },
})
