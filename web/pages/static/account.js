// The page of one's own things: who the reader is, what the host keeps of them, and where they are
// signed in.

import { t } from "/static/app.js";
import { frame } from "/static/pages.js";

frame(t("My things", "Của tôi"));
