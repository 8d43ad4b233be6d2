"use strict";
const devfix = (() => {
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
    const button = document.getElementById("theme");
    if (button) button.textContent = `Theme: ${theme}`;
  }

  function remember(theme) {
    try {
      localStorage.devfixTheme = theme;
    } catch {
      // A page without storage forgets.
    }
  }

  function controls() {
    for (const tools of document.querySelectorAll(".tools")) tools.hidden = false;
    wear(root.dataset.theme);
    document.getElementById("theme")?.addEventListener("click", () => {
      wear(themes[(themes.indexOf(root.dataset.theme) + 1) % themes.length]);
      remember(root.dataset.theme);
    });
    document.getElementById("fold")?.addEventListener("click", (event) => {
      const folds = event.target.textContent === "Fold all";
      for (const one of document.querySelectorAll(".finding > details")) one.open = !folds;
      event.target.textContent = folds ? "Unfold all" : "Fold all";
    });
    root.classList.add("live");
  }

  // `apply` is told which values of which facets and which words are wanted, and answers how many things show.
  function filters(total, apply) {
    const query = document.getElementById("query");
    const boxes = [...document.querySelectorAll(".facet input")];
    const keys = [...new Set(boxes.map((box) => box.name))];

    function filter() {
      const chosen = keys
        .map((key) => [key, new Set(boxes.filter((box) => box.name === key && box.checked).map((box) => box.value))])
        .filter(([, values]) => values.size);
      const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
      const everything = !chosen.length && !words.length;
      const shown = apply({ chosen, words });
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
    document.addEventListener("keydown", (event) => {
      if (event.key === "/" && !event.ctrlKey && !event.metaKey && event.target.type !== "search") {
        event.preventDefault();
        query.focus();
      }
    });
    addEventListener("hashchange", read);
    read();
    if (location.hash && !location.hash.startsWith("#?")) filter();
  }

  wear(remembered());
  // Chosen on another page, perhaps on the one before this: a browser may tell of it only after this page has asked.
  addEventListener("storage", () => wear(remembered()));
  addEventListener("pageshow", () => wear(remembered()));
  document.addEventListener("DOMContentLoaded", controls);
  return { filters };
})();
