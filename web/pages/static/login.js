// The pages for somebody who is not signed in, or may not have a page.

import { $, api, el, setUpTheme, setUpTips, t, translate } from "/static/app.js";

const faults = {
  invalid_api_key: t("This key is not known here, or no longer. Copy the whole of it, or ask for a new one.", "Khóa này không được biết ở đây, hoặc không còn hiệu lực. Hãy chép trọn khóa, hoặc xin khóa mới."),
  key_opens_no_page: t("This key is for programs only: it opens no page.", "Khóa này chỉ dành cho chương trình: nó không mở được trang nào."),
  invalid_token: t("This link was used, or is too old. Ask for a new one.", "Đường dẫn này đã được dùng hoặc đã quá hạn. Hãy xin đường dẫn mới."),
  unavailable: t("The identity provider cannot be reached at this moment. Try again soon.", "Hiện không kết nối được với nhà cung cấp danh tính. Hãy thử lại sau giây lát."),
  failed: t("Signing in did not succeed. Try again.", "Đăng nhập không thành công. Hãy thử lại."),
};

translate();
document.title = `${document.querySelector("h1").textContent} · Molar`;
setUpTheme();
setUpTips();
if ($("with-key")) signIn().catch((err) => showFault(err.message));
if ($("sign-out")) otherWay().catch(() => null);

function showFault(text) {
  $("fault").replaceChildren(el("p", { className: "note bad" }, text));
}

// otherWay shows the button that ends the session and leads to the page for signing in, where there is
// more than one way.
async function otherWay() {
  const ways = await api("/v1/signin");
  $("sign-out").hidden = !ways.keys && !ways.oidc;
  $("sign-out").addEventListener("click", async () => {
    await fetch("/logout", { method: "POST" }).catch(() => null);
    location.assign("/login");
  });
}

// signIn shows the ways in which one can sign in, and the reason why an attempt failed.
async function signIn() {
  const query = new URLSearchParams(location.search);
  const to = query.get("to") ?? "/";
  const fault = query.get("fault");
  if (fault) showFault(faults[fault] ?? faults.failed);
  const ways = await api("/v1/signin");
  $("to").value = to;
  $("with-key").hidden = !ways.keys;
  $("link-hint").hidden = ways.oidc && !ways.keys;
  $("provider").hidden = !ways.oidc;
  $("oidc").textContent = t(`Sign in with ${ways.name}`, `Đăng nhập bằng ${ways.name}`);
  $("oidc").href = `/login/oidc?${new URLSearchParams({ to })}`;
  if (ways.keys && !ways.oidc) $("key").focus();
}
