document.addEventListener("DOMContentLoaded", () => {
  if (!document.getElementById("query")) return;
  const files = [...document.querySelectorAll(".file")].map((section) => ({
    section,
    label: section.querySelector(".path").textContent,
    findings: [...section.querySelectorAll(".finding")].map((article) => ({
      article,
      values: { ...section.dataset, ...article.dataset },
    })),
  }));

  function matches(file, finding, { chosen, words }) {
    if (!chosen.every(([key, values]) => values.has(finding.values[key]))) return false;
    if (!words.length) return true;
    finding.text ??= `${file.label} ${finding.article.textContent}`.toLowerCase();
    return words.every((word) => finding.text.includes(word));
  }

  const total = files.reduce((sum, file) => sum + file.findings.length, 0);
  devfix.filters(total, (wanted) => {
    let shown = 0;
    for (const file of files) {
      let here = 0;
      for (const finding of file.findings) {
        finding.article.hidden = !matches(file, finding, wanted);
        here += !finding.article.hidden;
      }
      file.section.hidden = !here;
      shown += here;
    }
    return shown;
  });
});
