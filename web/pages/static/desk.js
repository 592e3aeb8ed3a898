// The desk: the turns of all people, and the steps that put a wrong answer right.

import { t } from "/static/app.js";
import { frame } from "/static/pages.js";

frame(t("Desk", "Bàn duyệt"));
