"use strict";
(() => {
  const root = document.documentElement;
  const themes = ["auto", "light", "dark"];

  function remembered() {
    try {
      return themes.includes(localStorage.devfixTheme) ? localStorage.devfixTheme : "auto";
    } catch {
      return "auto";
    }
  }

  function wear(theme) {
    root.dataset.theme = theme;
    try {
      localStorage.devfixTheme = theme;
    } catch {
      // A page without storage forgets.
    }
  }

  function start() {
    const query = document.getElementById("query");
    if (!query) return;
    const tools = document.querySelector(".tools");
    const boxes = [...document.querySelectorAll(".facet input")];
    const keys = [...new Set(boxes.map((box) => box.name))];
    const files = [...document.querySelectorAll(".file")].map((section) => ({
      section,
      label: section.querySelector(".path").textContent,
      findings: [...section.querySelectorAll(".finding")].map((article) => ({
        article,
        values: { ...section.dataset, ...article.dataset },
      })),
    }));
    const total = files.reduce((sum, file) => sum + file.findings.length, 0);

    function wanted() {
      const chosen = keys.map((key) => [
        key,
        new Set(boxes.filter((box) => box.name === key && box.checked).map((box) => box.value)),
      ]);
      return { chosen: chosen.filter(([, values]) => values.size), words: query.value.toLowerCase().split(/\s+/).filter(Boolean) };
    }

    function matches(file, finding, { chosen, words }) {
      if (!chosen.every(([key, values]) => values.has(finding.values[key]))) return false;
      if (!words.length) return true;
      finding.text ??= `${file.label} ${finding.article.textContent}`.toLowerCase();
      return words.every((word) => finding.text.includes(word));
    }

    function filter() {
      const filters = wanted();
      let shown = 0;
      for (const file of files) {
        let here = 0;
        for (const finding of file.findings) {
          finding.article.hidden = !matches(file, finding, filters);
          here += !finding.article.hidden;
        }
        file.section.hidden = !here;
        shown += here;
      }
      const everything = !filters.chosen.length && !filters.words.length;
      document.getElementById("shown").textContent = everything ? `${total} shown` : `${shown} of ${total} shown`;
      document.getElementById("clear").hidden = everything;
      document.getElementById("nothing").hidden = shown > 0;
    }

    function write() {
      const state = new URLSearchParams(boxes.filter((box) => box.checked).map((box) => [box.name, box.value]));
      if (query.value) state.set("q", query.value);
      history.replaceState(null, "", `#${state.size ? `?${state}` : ""}`);
    }

    function read() {
      if (location.hash && !location.hash.startsWith("#?")) return;
      const state = new URLSearchParams(location.hash.slice(2));
      for (const box of boxes) box.checked = state.getAll(box.name).includes(box.value);
      query.value = state.get("q") ?? "";
      for (const box of boxes) if (box.checked) box.closest("details")?.setAttribute("open", "");
      filter();
    }

    function changed() {
      write();
      filter();
    }

    let waiting = 0;
    query.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(changed, 120);
    });
    for (const box of boxes) box.addEventListener("change", changed);
    document.getElementById("clear").addEventListener("click", () => {
      for (const box of boxes) box.checked = false;
      query.value = "";
      query.focus();
      changed();
    });
    document.getElementById("fold").addEventListener("click", (event) => {
      const folds = event.target.textContent === "Fold all";
      for (const one of document.querySelectorAll(".finding > details")) one.open = !folds;
      event.target.textContent = folds ? "Unfold all" : "Fold all";
    });
    document.getElementById("theme").addEventListener("click", (event) => {
      wear(themes[(themes.indexOf(root.dataset.theme) + 1) % themes.length]);
      event.target.textContent = `Theme: ${root.dataset.theme}`;
    });
    document.addEventListener("keydown", (event) => {
      if (event.key === "/" && !event.ctrlKey && !event.metaKey && event.target.type !== "search") {
        event.preventDefault();
        query.focus();
      }
    });
    addEventListener("hashchange", read);
    document.getElementById("theme").textContent = `Theme: ${root.dataset.theme}`;
    root.classList.add("live");
    tools.hidden = false;
    read();
    if (!location.hash.startsWith("#?")) filter();
  }

  wear(remembered());
  document.addEventListener("DOMContentLoaded", start);
})();
