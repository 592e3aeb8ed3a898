// The services that a person has connected to as themselves, with buttons to connect and to end it.

import { api, el, t, when } from "/static/app.js";

const at = (server, rest = "") => `/v1/logins/${encodeURIComponent(server)}${rest}`;

function line(login, reload) {
  const name = login.server;
  if (!login.connected) {
    return el("li", {}, `${name} `, el("a", { href: at(name, "/begin?to=/account") }, t(`Connect to ${name}`, `Kết nối với ${name}`)));
  }
  const said = el("span", { role: "status" });
  const button = el("button", { type: "button", className: "small", "aria-label": t(`Disconnect ${name}`, `Ngắt kết nối ${name}`), on: { click: async () => {
    button.disabled = true;
    try {
      await api(at(name), { method: "DELETE" });
      await reload();
    } catch (err) {
      button.disabled = false;
      said.textContent = err.message;
    }
  } } }, t("Disconnect", "Ngắt kết nối"));
  const since = login.since ? t(`connected since ${when(login.since)}`, `đã kết nối từ ${when(login.since)}`) : t("connected", "đã kết nối");
  return el("li", {}, `${name}, ${since} `, button, said);
}

// showLogins fills a part of the page with the person's logins.
export async function showLogins(root) {
  const { data } = await api("/v1/logins");
  const reload = () => showLogins(root);
  root.replaceChildren(data.length
    ? el("ul", { className: "lines" }, ...data.map((login) => line(login, reload)))
    : el("p", { className: "note" }, t("No service needs your own login.", "Không có dịch vụ nào cần đăng nhập riêng của bạn.")));
}
