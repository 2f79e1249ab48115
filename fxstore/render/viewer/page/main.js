// The page's entry: finds the payload beside it and shows it.

import { apiOf, attachBridge } from "./api.js";
import { PageApp } from "./app.js";
import { attachDeepLink } from "./deeplink.js";
import { install } from "../embed/api.js";
import { decode, inflate } from "../scene/payload.js";
import { Scene } from "../scene/scene.js";
import { visible } from "./dom.js";
import { firstNamed, openingPanes } from "../panels/verdict.js";

const root = document.querySelector("[data-fxstore-page]");
root.classList.add("fx");

async function open() {
  const { textContent } = document.querySelector("[data-fxstore-payload]");
  const scene = new Scene(decode(await inflate(textContent)));
  document.title = visible(scene.header.title || "fxstore");
  const app = new PageApp(root, scene, true);
  const opening = openingPanes(scene, window.innerWidth);
  for (const { number } of scene.panes) app.panes.show(number, opening.includes(number));
  install(window, document.querySelector("style").textContent, apiOf(app));
  attachDeepLink(app);
  attachBridge(window, window.fxstore);
  const first = scene.columns.get("highlight")[0] ?? firstNamed(scene.header.verdict);
  if (!app.compare.selection && first !== undefined) app.compare.bringToView(first);
}

open().catch((error) => {
  root.textContent = `This page cannot be shown: ${error.message}`;
  throw error;
});
