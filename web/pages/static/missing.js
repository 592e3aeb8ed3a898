// The page for unknown addresses.

import { t } from "/static/app.js";
import { frame } from "/static/pages.js";

frame(t("Not here", "Không có"));
