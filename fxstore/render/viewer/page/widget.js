// The notebook's side of a page's widget: the page in a frame of its own, and the selection on both sides.

function render({ model, el }) {
  const frame = document.createElement("iframe");
  Object.assign(frame, { title: "fxstore", srcdoc: model.get("html") });
  frame.setAttribute("sandbox", "allow-scripts");
  Object.assign(frame.style, { width: "100%", height: `${model.get("height")}px`, border: "0" });
  const select = () => frame.contentWindow?.postMessage({ fxstore: 1, select: model.get("selected") }, "*");
  const resize = () => (frame.style.height = `${model.get("height")}px`);
  const hear = ({ source, data }) => {
    if (source !== frame.contentWindow || data?.fxstore !== 1) return;
    if (data.ready) {
      if (model.get("selected") !== null) select();
    } else if ("selected" in data) {
      model.set("selected", data.selected);
      model.save_changes();
    }
  };
  window.addEventListener("message", hear);
  model.on("change:selected", select);
  model.on("change:height", resize);
  el.append(frame);
  return () => {
    window.removeEventListener("message", hear);
    model.off("change:selected", select);
    model.off("change:height", resize);
  };
}

export default { render };
