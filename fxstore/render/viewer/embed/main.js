// The entry of an offline page around a JSON payload.

import { apiOf, attachBridge } from "../page/api.js";
import { attachDeepLink } from "../page/deeplink.js";
import { install, unpacked } from "./api.js";
import { PayloadPage } from "./page.js";
import { visible } from "../page/dom.js";

const root = document.querySelector("[data-fxstore-page]");
root.classList.add("fx");

async function open() {
  const holder = document.querySelector("[data-fxstore-payload]");
  const { title, payload } = await unpacked(holder.textContent);
  const page = new PayloadPage(root, payload, { alone: true, title });
  document.title = visible(page.scene.header.title || "fxstore");
  attachDeepLink(page.app);
  install(window, document.querySelector("style").textContent, { ...apiOf(page.app), page });
  attachBridge(window, window.fxstore);
}

open().catch((error) => {
  root.textContent = `This page cannot be shown: ${error.message}`;
  throw error;
});
