(() => {
  const place = $place;
  const run = () => window.fxstore.mountPacked(place, $data);
  const mount = () => {
    const early = document.readyState === "loading" && !document.getElementById(place);
    if (early) document.addEventListener("DOMContentLoaded", run);
    else run();
  };
  if (window.fxstore) return mount();
  const note = document.createTextNode("This graph needs the fxstore viewer: load its script on this page.");
  const tell = () => window.fxstore || document.getElementById(place)?.append(note);
  window.addEventListener("fxstoreready", () => (note.remove(), mount()), { once: true });
  if (document.readyState === "complete") tell();
  else window.addEventListener("load", tell);
})();
