// Rules that axe-core does not have. Returns the violations, in words.
const violations = [];
const describe = (it) => `<${it.nodeName.toLowerCase()}${it.id ? "#" + it.id : ""}> ${it.textContent.trim().slice(0, 40)}`;
for (const it of document.querySelectorAll("table")) {
  if (!it.querySelector("th")) violations.push(`a table without headings: ${describe(it)}`);
}
if (document.documentElement.scrollWidth > innerWidth + 1) {
  const isWide = (it) => it.getBoundingClientRect().right > innerWidth + 1 && !it.closest(".scroll, pre");
  const wide = Array.from(document.querySelectorAll("main *")).filter(isWide);
  violations.push(`wider than the window: ${document.documentElement.scrollWidth} > ${innerWidth}: ${wide.slice(0, 1).map(describe)}`);
}
return violations;
