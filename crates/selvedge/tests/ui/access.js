// Rules that tools such as axe hold a page to, as far as a page like ours can break them. Returns the violations,
// in words. `arguments[0]` is whether the page is on a phone.
const violations = [];
const name = (it) => `<${it.nodeName.toLowerCase()}${it.id ? "#" + it.id : ""}${it.className && it.className.baseVal === undefined ? "." + it.className : ""}> ${(it.textContent || "").trim().slice(0, 40)}`;
const report = (rule, it) => violations.push(it ? `${rule}: ${name(it)}` : rule);
const all = (selector) => Array.from(document.querySelectorAll(selector));
const seen = (it) => it.getClientRects().length > 0 && getComputedStyle(it).visibility !== "hidden";
const label = (it) => (it.getAttribute("aria-label") || "").trim()
  || (it.getAttribute("aria-labelledby") || "").split(" ").map((id) => document.getElementById(id)?.textContent || "").join("").trim();

if (!document.documentElement.lang) report("the page has no language");
if (!document.title.trim()) report("the page has no title");
if (all("main").length !== 1) report("there is not one main part");
if (all("h1").filter(seen).length !== 1) report(`there is not one first heading but ${all("h1").filter(seen).length}`);
let level = 0;
for (const heading of all("h1, h2, h3, h4, h5, h6").filter(seen)) {
  const next = Number(heading.nodeName[1]);
  if (next > level + 1) report(`a heading of level ${next} after one of level ${level}`, heading);
  level = next;
}
const ids = new Map();
for (const it of all("[id]")) ids.set(it.id, (ids.get(it.id) || 0) + 1);
for (const [id, count] of ids) if (count > 1) report(`the id ${id} stands ${count} times`);
for (const it of all("[aria-labelledby], [aria-describedby]")) {
  for (const id of `${it.getAttribute("aria-labelledby") || ""} ${it.getAttribute("aria-describedby") || ""}`.trim().split(/\s+/))
    if (!document.getElementById(id)) report(`named by ${id}, which is not there`, it);
}
for (const it of all("a[href], button, summary").filter(seen)) {
  if (!(it.textContent.trim() || label(it))) report("it has no name", it);
}
for (const it of all("input:not([type=hidden]), select, textarea").filter(seen)) {
  if (!(it.labels?.length && Array.from(it.labels).some((l) => l.textContent.trim())) && !label(it)) report("no label", it);
}
for (const it of all("svg")) if (it.getAttribute("aria-hidden") !== "true" && !(it.getAttribute("role") === "img" && label(it))) report("a picture without words", it);
for (const it of all("img")) if (!it.hasAttribute("alt")) report("a picture without words", it);
for (const it of all("nav, [role=region]")) if (!label(it)) report("a part without a name", it);
const parts = new Set();
for (const it of all("section, nav, [role=region]").filter(seen)) {
  const part = label(it) && `${it.nodeName === "NAV" ? "navigation" : "region"} ${label(it)}`;
  if (part && parts.has(part)) report(`another ${part}`, it);
  parts.add(part);
}
for (const it of all("[tabindex]")) if (it.tabIndex > 0) report("changes the order of the keyboard", it);
for (const it of all("table")) {
  if (!it.querySelector("th")) report("a table without headings", it);
  for (const head of it.querySelectorAll("th")) if (!head.hasAttribute("scope")) report("a heading of nothing", head);
}
for (const it of all("ul, ol")) for (const child of it.children) if (child.nodeName !== "LI") report("a list with something else in it", child);
for (const it of all("dl")) for (const child of it.children) if (!["DT", "DD", "DIV"].includes(child.nodeName)) report("a list with something else in it", child);
for (const it of all("*").filter(seen)) {
  const style = getComputedStyle(it);
  const scrolls = /(auto|scroll)/.test(style.overflowX + style.overflowY) && (it.scrollHeight > it.clientHeight + 1 || it.scrollWidth > it.clientWidth + 1);
  if (scrolls && it !== document.documentElement && it !== document.body && it.tabIndex < 0 && !it.querySelector("a, button, input")) report("can't be scrolled by keys", it);
}
if (document.documentElement.scrollWidth > innerWidth + 1) {
  const wide = all("main *").filter((it) => it.getBoundingClientRect().right > innerWidth + 1 && !it.closest(".scroll, pre"));
  report(`wider than the window: ${document.documentElement.scrollWidth} > ${innerWidth}`, wide[0]);
}

// Contrast, by WCAG 2: 4.5 to 1, and 3 to 1 for large text.
const parse = (text) => { const n = (text.match(/[\d.]+/g) || []).map(Number); return n.length < 3 ? [0, 0, 0, 0] : [n[0], n[1], n[2], n[3] ?? 1]; };
const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
const light = (c) => { const [r, g, b] = c.slice(0, 3).map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const ground = (it) => {
  const layers = [];
  for (let at = it; at; at = at.parentElement) { const c = parse(getComputedStyle(at).backgroundColor); if (c[3] > 0) layers.push(c); if (c[3] === 1) break; }
  return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255, 1]);
};
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const reported = new Set();
while (walker.nextNode()) {
  const it = walker.currentNode.parentElement;
  if (!walker.currentNode.nodeValue.trim() || !seen(it) || it.closest(".unseen, .skip, script, dialog:not([open])")) continue;
  const style = getComputedStyle(it);
  const under = ground(it);
  const [a, b] = [light(over(parse(style.color), under)), light(under)];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const size = parseFloat(style.fontSize);
  const needed = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
  const key = `${style.color} on ${under}`;
  if (ratio < needed && !reported.has(key)) { reported.add(key); report(`contrast ${ratio.toFixed(2)} of ${key}`, it); }
}
return violations;
