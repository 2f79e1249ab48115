// The entry of the bundle for other pages: `install` is called by what is around it.

import { install } from "./embedapi.js";

export const installEmbed = install;
