"use strict";
// Shows the messages of a bar: on hover, on a click, and by the arrow keys. Texts are set as text, never as HTML.
for (const chart of document.querySelectorAll("svg.columns")) {
  const figure = chart.closest("figure");
  const detail = figure.querySelector(".detail");
  const [tools, bars] = JSON.parse(figure.querySelector("script").textContent);
  const cursor = chart.querySelector(".cursor");
  const left = Number(chart.dataset.left);
  const step = Number(chart.dataset.step);
  let chosen = -1;

  const show = (at, whole) => {
    if (!bars[at]) return;
    const [start, messages, kind, argument, words, listed] = bars[at];
    const [number, tokens, tool] = listed[0];
    const named = [tools[tool] || kind, argument, words].filter(Boolean).join(" · ");
    const line = `#${number}: ${tokens.toLocaleString("en")} tokens, ${named}`;
    cursor.setAttribute("x", left + at * step);
    cursor.setAttribute("visibility", "visible");
    chart.setAttribute("aria-valuenow", at);
    const first = document.createElement("p");
    first.textContent = messages > 1
      ? `${messages.toLocaleString("en")} messages from #${start}, the largest is ${line}`
      : line;
    chart.setAttribute("aria-valuetext", first.textContent);
    detail.replaceChildren(first);
    if (whole && messages > 1) {
      const list = document.createElement("ol");
      for (const [number, tokens, tool] of listed) {
        const item = document.createElement("li");
        item.textContent = `#${number} ${tokens.toLocaleString("en")} ${tools[tool]}`;
        list.append(item);
      }
      if (messages > listed.length) {
        const item = document.createElement("li");
        item.textContent = `and ${messages - listed.length} smaller ones`;
        list.append(item);
      }
      detail.append(list);
    }
  };
  const under = (event) => {
    const box = chart.getBoundingClientRect();
    const x = (event.clientX - box.left) * chart.viewBox.baseVal.width / box.width;
    return Math.floor((x - left) / step);
  };
  const choose = (at) => {
    if (!bars.length) return;
    chosen = Math.min(Math.max(at, 0), bars.length - 1);
    show(chosen, true);
  };

  chart.addEventListener("pointermove", (event) => show(under(event), false));
  chart.addEventListener("pointerleave", () => { if (chosen >= 0) show(chosen, true); });
  chart.addEventListener("click", (event) => choose(under(event)));
  chart.addEventListener("keydown", (event) => {
    const page = Math.max(Math.floor(bars.length / 10), 1);
    const to = {
      ArrowRight: chosen + 1, ArrowUp: chosen + 1, ArrowLeft: chosen - 1, ArrowDown: chosen - 1,
      PageUp: chosen + page, PageDown: chosen - page, Home: 0, End: bars.length - 1,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    choose(to);
  });
}
