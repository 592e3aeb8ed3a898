// The page of one's own things: who the reader is, what the host keeps of them, and where they are
// signed in.

import { $, api, el, me, number, t, when } from "/static/app.js";
import { listGrants } from "/static/grants.js";
import { facts, fill, frame, note, say, table, words } from "/static/pages.js";

// kinds are the names of what the host keeps of a person in Vietnamese, and in plainer English where that is not the name itself.
const kinds = {
  leases: ["locks of conversations", "khóa của cuộc trò chuyện"], conversations: "cuộc trò chuyện", messages: "tin nhắn", files: "tệp", traces: "dấu vết của câu trả lời", wires: ["recorded traffic", "bản ghi trao đổi"], summaries: "tóm tắt",
  responses: "phản hồi", feedback: ["marks", "đánh dấu"], grants: ["permissions", "quyền đã cho"], "old grants": "quyền cũ", "sessions and keys": "phiên đăng nhập và khóa", "running turns": ["recent turns", "lượt gần đây"],
  "paused turns": "lượt tạm dừng", approvals: "yêu cầu chấp thuận", "kept results": "kết quả được giữ", "repeatable answers": "câu trả lời có thể lặp lại",
  "events for the webhook": "thông báo cho webhook", "requests for a person": "yêu cầu gặp nhân viên",
  "hashes of answers": "mã băm câu trả lời", "names in the audit": "tên trong nhật ký kiểm tra", person: ["entry about you", "mục về bạn"], "logins at servers": "dịch vụ đã nối", "marks of reviewers": "đánh dấu của người duyệt", usage: "dòng sử dụng", "notes of reviewers' files": "ghi chú về tệp của người duyệt",
};
const kindOf = (name) => t(...[name, kinds[name] ?? name].flat().slice(-2));

const counted = (counts) => Object.entries(counts ?? {}).filter(([, n]) => n > 0);

function showWho(account, groups) {
  return el("div", { className: "card pad" }, facts([
    [t("Name", "Tên"), account.name],
    [t("Groups", "Nhóm"), groups.join(", ")],
    [t("Id", "Mã"), el("code", {}, account.id)],
  ]));
}

// showIf shows a part of the page if the host has a route for it.
async function showIf(part, path, show) {
  const has = await api(path).catch(() => null);
  if (!has) return;
  $(part).hidden = false;
  await show(has);
}

// --- usage -------------------------------------------------------------------------------------

// loadUsage shows what the reader's questions used today and in this month, in UTC.
async function loadUsage(who) {
  const today = new Date().toISOString().slice(0, 10);
  const since = (day) => api(`/v1/usage?${new URLSearchParams({ by: who.person ? "person" : "key", since: day })}`);
  const sums = await Promise.all([since(today), since(`${today.slice(0, 8)}01`)]).catch(() => null); // a host without it shows nothing
  if (!sums) return;
  const [day, month] = sums.map(({ data }) => data.find((row) => row.name === who.id));
  $("usage-part").hidden = false;
  $("usage").replaceChildren(month ? table(t("Used", "Đã dùng"), [t("When", "Khi nào"), t("Tokens in", "Token vào"), t("Tokens out", "Token ra"), t("Cost", "Chi phí")],
    [[t("Today", "Hôm nay"), day], [t("This month", "Tháng này"), month]].map(([name, sum]) =>
      [name, number(sum?.prompt_tokens ?? 0), number(sum?.completion_tokens ?? 0), sum?.cost ? number(Number(sum.cost), 2) : ""]))
    : note(t("Nothing was used in this month.", "Tháng này chưa dùng gì.")));
}

// --- sessions ----------------------------------------------------------------------------------

const loadSessions = () => fill($("sessions"), () => api("/v1/account/sessions"), ({ data }) => (data.length
  ? el("ul", { className: "lines" }, data.map(sessionLine))
  : el("p", { className: "none" }, t("There is no session here: a proxy, or a key sent with each request, signs you in.", "Không có phiên nào ở đây: máy chủ trung gian hoặc khóa gửi kèm mỗi yêu cầu đăng nhập cho bạn."))));

function sessionLine(s) {
  const begun = when(s.created_at);
  const button = el("button", { type: "button", "aria-label": t(`Sign out: session of ${begun}`, `Đăng xuất: phiên từ ${begun}`), on: { click: async () => {
    button.disabled = true;
    try {
      await api(`/v1/account/sessions/${encodeURIComponent(s.id)}`, { method: "DELETE" });
      say(t("The session has ended.", "Phiên đã kết thúc."));
      if (await api("/v1/me").catch((err) => err.status) === 401) location.assign("/login"); // it was this browser's
      else await loadSessions();
    } catch (err) {
      button.disabled = false;
      line.append(el("p", { className: "note bad", role: "alert" }, words(err)));
    }
  } } }, t("Sign out", "Đăng xuất"));
  const line = el("li", {},
    el("div", {}, el("strong", {}, t(`Since ${begun}`, `Từ ${begun}`)),
      el("small", {}, [s.last_used && t(`last used ${when(s.last_used)}`, `dùng lần cuối ${when(s.last_used)}`), s.expires_at && t(`ends ${when(s.expires_at)}`, `hết hạn ${when(s.expires_at)}`)].filter(Boolean).join(" · "))),
    button);
  return line;
}

// --- one's own data ----------------------------------------------------------------------------

function showData(account) {
  const all = counted(account.counts);
  return [
    el("article", { className: "card pad" },
      el("h3", {}, t("Take it with you", "Tải về")),
      el("p", { className: "quiet" }, t("One file with everything that is kept of you: conversations, files, marks, permissions and the rest.", "Một tệp gồm mọi thứ được giữ về bạn: cuộc trò chuyện, tệp, đánh dấu, quyền đã cho và phần còn lại.")),
      all.length ? el("ul", { className: "kept" }, all.map(([name, n]) => el("li", {}, `${kindOf(name)}: ${number(n)}`))) : "",
      el("div", { className: "row" }, el("a", { className: "button primary", href: "/v1/account/export", download: "" }, t("Download my data", "Tải dữ liệu của tôi")))),
    eraseCard(account),
  ];
}

// eraseCard returns the form that erases everything. It has to be confirmed by typing the name.
function eraseCard(account) {
  const name = account.name || account.id;
  const typed = el("input", { id: "confirm", name: "confirm", autocomplete: "off", spellcheck: false, required: true, "aria-describedby": "erase-what" });
  const button = el("button", { type: "submit", className: "danger", disabled: true }, t("Erase everything", "Xóa tất cả"));
  const out = el("div", { role: "alert" });
  typed.addEventListener("input", () => { button.disabled = typed.value.trim() !== name; });
  const card = el("article", { className: "card pad", id: "erase" },
    el("h3", {}, t("Erase it", "Xóa đi")),
    el("p", { id: "erase-what", className: "quiet" }, t("All of it goes for good: your conversations with their files, traces and marks, your permissions, connected services and sessions. You are signed out. Nobody can bring it back. Tests and answers that reviewers made of your questions stay; you are told which.",
      "Tất cả sẽ mất vĩnh viễn: các cuộc trò chuyện cùng tệp, dấu vết và đánh dấu, quyền đã cho, dịch vụ đã nối và phiên đăng nhập. Bạn sẽ bị đăng xuất. Không ai khôi phục được. Bài kiểm thử và câu trả lời mà người duyệt làm từ câu hỏi của bạn vẫn còn; bạn sẽ được cho biết đó là gì.")),
    el("form", { on: { submit: async (event) => {
      event.preventDefault();
      button.disabled = true;
      out.replaceChildren();
      try {
        erased(await api("/v1/account/erase", { method: "POST", body: { confirm: name } }));
      } catch (err) {
        button.disabled = false;
        out.replaceChildren(el("p", { className: "note bad" }, words(err)));
      }
    } } },
      el("div", { className: "field" }, el("label", { for: "confirm" }, t(`Type “${name}” to confirm`, `Gõ “${name}” để xác nhận`)), typed),
      el("div", { className: "row" }, button), out));
  return card;
}

// erased replaces the page by what was erased.
const files = (kept) => kept.map((f) => f.path ?? f.turn).join(", ");

function erased({ counts, kept }) {
  for (const part of document.querySelectorAll("main > section")) part.remove();
  const title = el("h2", { tabIndex: -1 }, t("Everything is erased", "Đã xóa tất cả"));
  $("main").append(el("section", {}, title,
    el("ul", { className: "kept" }, counted(counts).map(([name, n]) => el("li", {}, `${kindOf(name)}: ${number(n)}`))),
    kept.length ? el("p", {}, t(`Files that reviewers made of your questions stay, with your words in them: ${files(kept)}. Ask whoever runs this host to look at them.`,
      `Các tệp mà người duyệt làm từ câu hỏi của bạn vẫn còn, có lời của bạn trong đó: ${files(kept)}. Hãy nhờ người vận hành xem lại.`)) : "",
    el("p", {}, t("You are signed out. If you sign in again, you begin with nothing.", "Bạn đã đăng xuất. Nếu đăng nhập lại, bạn bắt đầu từ đầu.")),
    el("p", {}, el("a", { className: "button", href: "/" }, t("Go to the chat", "Đến trang trò chuyện")))));
  title.focus();
}

// --- the page ----------------------------------------------------------------------------------

async function begin() {
  const who = await me();
  if (!who?.id) {
    $("who").replaceChildren(note(t("This host knows no people and no keys: everything on it belongs to its operator.", "Máy chủ này không phân biệt người dùng hay khóa: mọi thứ thuộc về người vận hành.")));
    for (const id of ["sessions", "data"]) $(id).closest("section").hidden = true;
    return;
  }
  const account = api("/v1/account");
  account.catch(() => null); // both parts below show the failure
  await Promise.all([
    fill($("who"), () => account.catch(() => api("/v1/account")), (it) => showWho(it, who.groups ?? [])),
    fill($("data"), () => account.catch(() => api("/v1/account")), showData),
    loadSessions(),
    loadUsage(who),
    showIf("grants-part", "/v1/grants", () => listGrants($("grants"), say)),
    showIf("logins-part", "/v1/logins", async () => (await import("/static/account_logins.js")).showLogins($("logins"))),
  ]);
}

frame(t("My things", "Của tôi"));
await begin();
