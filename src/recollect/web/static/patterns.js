// While sessions are being looked at: says how far it is, and shows the page anew when it is done.
"use strict";
for (const place of document.querySelectorAll("[data-work]")) {
  const far = place.querySelector("[data-far]");
  const look = async () => {
    try {
      const answer = await fetch("/page/patterns/work?of=" + encodeURIComponent(place.dataset.work));
      if (!answer.ok || answer.redirected) return;
      const told = await answer.json();
      if (!told.running) { location.replace(location.pathname); return; }
      if (told.total) far.textContent = ": " + told.done.toLocaleString() + " of " + told.total.toLocaleString();
    } catch { return; }
    setTimeout(look, 1500);
  };
  setTimeout(look, 800);
}
