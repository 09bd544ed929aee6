// Finds the obstacles for visitors with a keyboard, a screen reader, poor sight or a
// narrow screen. Returns a sentence for each.
(names) => {
  const complaints = [];
  const all = (selector) => [...document.querySelectorAll(selector)].filter(names.shown);
  const show = (e) => e.cloneNode(false).outerHTML.slice(0, 120) + names.blanks(e.textContent).slice(0, 40);
  const complain = (what, e) => complaints.push(e ? what + ": " + show(e) : what);

  // The document as a whole.
  if (!document.documentElement.lang) complain("the document has no lang");
  if (!names.blanks(document.title)) complain("the document has no title");
  if (!document.querySelector("meta[name=viewport]")) complain("the document has no viewport");
  if (all("main, [role=main]").length !== 1) complain("want one main landmark, got " + all("main, [role=main]").length);
  for (const e of document.querySelectorAll("meta[name=viewport]"))
    if (/user-scalable\s*=\s*no|maximum-scale/.test(e.content)) complain("the viewport forbids zooming", e);
  const navs = all("nav, [role=navigation]");
  if (navs.length > 1)
    for (const e of navs) if (!e.ariaLabel && !e.getAttribute("aria-labelledby")) complain("one of several navs has no name", e);
  const outside = (e) => !e.closest("main, header, footer, nav, aside, [role], dialog") && !e.matches("script, style, template, noscript");
  for (const e of [...document.body.children].filter(names.shown))
    if (outside(e) && !e.matches("a.skip, a[href^='#']") && names.blanks(e.innerText)) complain("text outside of all landmarks", e);

  // Headings.
  let last = 0;
  const headings = all("h1, h2, h3, h4, h5, h6");
  for (const e of headings) {
    const level = +e.tagName[1];
    if (!names.blanks(names.textOf(e))) complain("a heading has no text", e);
    if (level > last + 1 && last > 0) complain("a heading skips a level after h" + last, e);
    last = level;
  }
  if (all("h1").length !== 1) complain("want one h1, got " + all("h1").length);
  if (headings[0] && headings[0].tagName !== "H1" && !headings[0].closest("nav, header")) complain("the first heading is not an h1", headings[0]);

  // Names.
  for (const e of names.all("field")) if (!names.name(e)) complain("a field has no label", e);
  for (const e of names.all("control")) if (!names.name(e)) complain("a link or button has no name", e);
  for (const e of all("img")) if (!e.hasAttribute("alt")) complain("an img has no alt", e);
  for (const e of all("svg")) {
    const named = e.querySelector(":scope > title") || e.ariaLabel || e.getAttribute("aria-labelledby");
    if (!named && !e.closest("[aria-hidden=true]")) complain("a picture has no title and is not hidden", e);
  }
  for (const e of all("fieldset")) if (!e.querySelector(":scope > legend")) complain("a fieldset has no legend", e);
  for (const e of all("table")) if (!e.querySelector("th")) complain("a table has no header cell", e);
  for (const e of all("iframe")) if (!e.title) complain("an iframe has no title", e);

  // References.
  const ids = new Set();
  for (const e of document.querySelectorAll("[id]")) ids.has(e.id) ? complain("an id appears twice", e) : ids.add(e.id);
  for (const key of ["for", "aria-labelledby", "aria-describedby", "aria-controls"])
    for (const e of document.querySelectorAll("[" + key + "]"))
      for (const id of e.getAttribute(key).split(/\s+/)) if (id && !ids.has(id)) complain(key + " names nothing", e);
  for (const e of all("a[href^='#']"))
    if (e.hash.length > 1 && !ids.has(decodeURIComponent(e.hash.slice(1)))) complain("a link leads nowhere on this page", e);
  for (const e of all("[aria-invalid=true]")) if (!e.getAttribute("aria-describedby")) complain("a wrong field does not say what is wrong", e);

  // Lists contain only items.
  for (const e of document.querySelectorAll("ul > *, ol > *"))
    if (!e.matches("li, script, template")) complain("a list has a child that is not an item", e);
  for (const e of document.querySelectorAll("li")) if (!e.parentElement.matches("ul, ol, menu")) complain("an item is outside of a list", e);

  // The keyboard.
  for (const e of document.querySelectorAll("[tabindex]")) if (e.tabIndex > 0) complain("the focus order differs from the page's", e);
  for (const e of all("a a, a button, button a, button button")) complain("a control is inside another", e);
  for (const e of all("[aria-hidden=true]"))
    for (const inside of [e, ...e.querySelectorAll("*")])
      if (inside.tabIndex >= 0 && names.shown(inside)) complain("the focus can reach a hidden element", inside);

  // The width.
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) {
    const wide = all("body *").filter((e) => e.getBoundingClientRect().right > width + 1 && !scrolls(e.parentElement));
    complain("the page is " + document.documentElement.scrollWidth + " px wide on " + width, wide.at(-1));
  }
  function scrolls(e) {
    for (; e && e !== document.body; e = e.parentElement) if (getComputedStyle(e).overflowX !== "visible") return true;
    return false;
  }
  for (const e of all("*"))
    if (e.scrollWidth > e.clientWidth + 1 && ["auto", "scroll"].includes(getComputedStyle(e).overflowX) && e.tabIndex < 0 && !e.querySelector("a, button"))
      complain("a part that scrolls cannot be reached by keyboard", e);

  // Contrast: 4.5 for text, 3 for large text.
  for (const e of all("body, body *")) {
    const text = [...e.childNodes].filter((n) => n.nodeType === Node.TEXT_NODE).map((n) => n.data).join("");
    if (!names.blanks(text) || clipped(e) || e.closest("title, desc, script, style, option")) continue;
    const style = getComputedStyle(e);
    const back = backgroundOf(e);
    if (!back) continue;
    const size = parseFloat(style.fontSize), bold = +style.fontWeight >= 700;
    const want = size >= 24 || (size >= 18.66 && bold) ? 3 : 4.5;
    const got = ratio(over(rgba(e instanceof SVGElement ? style.fill : style.color), back), back);
    if (got < want) complain("contrast " + got.toFixed(2) + ", want " + want, e);
  }
  // clipped reports whether e is only for screen readers.
  function clipped(e) {
    const box = e.getBoundingClientRect();
    return box.width <= 1 || box.height <= 1;
  }
  // backgroundOf returns the color behind e, or null for an image.
  function backgroundOf(e) {
    const layers = [];
    for (; e; e = e.parentElement) {
      const style = getComputedStyle(e);
      if (style.backgroundImage !== "none") return null;
      const color = rgba(style.backgroundColor);
      if (color[3] > 0) layers.push(color);
      if (color[3] === 1) break;
    }
    return layers.reduceRight((below, layer) => over(layer, below), rgba("Canvas"));
  }
  // rgba returns a color as the browser paints it.
  function rgba(color) {
    const paint = (rgba.canvas ??= new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true }));
    if (color === "Canvas") color = matchMedia("(prefers-color-scheme: dark)").matches && /dark/.test(getComputedStyle(document.documentElement).colorScheme) ? "#121212" : "#fff";
    paint.clearRect(0, 0, 1, 1);
    paint.fillStyle = color;
    paint.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = paint.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  }
  function over(top, below) {
    const mix = (i) => top[i] * top[3] + below[i] * (1 - top[3]);
    return [mix(0), mix(1), mix(2), 1];
  }
  function ratio(a, b) {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  }
  function luminance(color) {
    const [r, g, b] = color.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }
  return complaints;
}
