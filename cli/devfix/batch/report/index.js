document.addEventListener("DOMContentLoaded", () => {
  const STEP = 200;
  const table = document.querySelector(".repositories");
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => ({ row }));
  const headers = [...table.tHead.rows[0].cells];
  const more = document.querySelector(".more");
  const order = new Intl.Collator(undefined, { numeric: true });
  let found = rows;
  let most = STEP;
  let sorted = { column: -1, down: false };

  function texts(row, selector) {
    return [...row.querySelectorAll(selector)].map((one) => one.textContent);
  }

  function values(one) {
    one.values ??= {
      state: texts(one.row, ".badge"),
      verdict: texts(one.row, ".verdict b"),
      error: texts(one.row, ".kind"),
      label: texts(one.row, ".label"),
    };
    return one.values;
  }

  function matches(one, { chosen, words }) {
    if (!chosen.every(([key, wanted]) => values(one)[key].some((value) => wanted.has(value)))) return false;
    if (!words.length) return true;
    one.text ??= one.row.textContent.toLowerCase();
    return words.every((word) => one.text.includes(word));
  }

  function show() {
    const keys = new Map();
    if (sorted.column >= 0) {
      for (const { row } of found) keys.set(row, row.cells[sorted.column].textContent);
      const compare = headers[sorted.column].className === "number" ? (a, b) => a - b : order.compare;
      const turned = sorted.down ? -1 : 1;
      found = [...found].sort((a, b) => turned * compare(keys.get(a.row), keys.get(b.row)));
    }
    body.replaceChildren(...found.slice(0, most).map(({ row }) => row));
    more.hidden = found.length <= most;
    document.getElementById("more").textContent = `Show ${Math.min(STEP, found.length - most)} more`;
    document.getElementById("all").textContent = `Show all ${found.length}`;
  }

  // Numbers are most interesting where they are greatest; the third click brings the order of the manifest back.
  function sort(column) {
    const first = headers[column].className === "number";
    if (sorted.column !== column) sorted = { column, down: first };
    else if (sorted.down === first) sorted = { column, down: !first };
    else sorted = { column: -1, down: false };
    for (const [number, header] of headers.entries()) {
      const direction = sorted.down ? "descending" : "ascending";
      header.setAttribute("aria-sort", number === sorted.column ? direction : "none");
    }
    found = rows.filter((one) => one.shows);
    show();
  }

  for (const [column, header] of headers.entries()) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    button.addEventListener("click", () => sort(column));
    header.append(button);
    header.setAttribute("aria-sort", "none");
  }
  document.getElementById("more").addEventListener("click", () => {
    most += STEP;
    show();
  });
  document.getElementById("all").addEventListener("click", () => {
    most = Infinity;
    show();
  });
  devfix.filters(rows.length, (wanted) => {
    for (const one of rows) one.shows = matches(one, wanted);
    found = rows.filter((one) => one.shows);
    most = STEP;
    show();
    return found.length;
  });
});
