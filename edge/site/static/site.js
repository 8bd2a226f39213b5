// Shows a form's answer in place, and goes back to sending the form where anything fails.
(() => {
  // A page that waits for something loads the part that changes, and itself at the end.
  const waiting = document.querySelector("[data-refresh]");
  const refresh = async () => {
    try {
      const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
      const fresh = page.getElementById(waiting.id);
      if (!fresh) return location.reload();
      waiting.replaceChildren(...fresh.childNodes);
    } catch {} // and again: the connection may return
    setTimeout(refresh, waiting.dataset.refresh * 1000);
  };
  if (waiting) setTimeout(refresh, waiting.dataset.refresh * 1000);

  for (const form of document.querySelectorAll("form[data-live]")) {
    const target = document.getElementById(form.dataset.live);
    const post = form.method === "post";
    let latest = 0, wait = 0;
    const show = async submitter => {
      const mine = ++latest;
      const values = new URLSearchParams(new FormData(form, submitter));
      if (!post) for (const [k, v] of [...values]) if (!v) values.delete(k);
      const query = values.toString();
      const address = form.getAttribute("action") + (post || !query ? "" : "?" + query);
      target.setAttribute("aria-busy", "true");
      try {
        const answer = await fetch(address, post ? { method: "POST", body: values } : {});
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const fresh = page.getElementById(target.id);
        if (mine !== latest) return;
        if (!fresh) return form.submit();
        target.replaceChildren(...fresh.childNodes);
        // A refusal is in the form, beside its fields; a success clears an old one.
        const answered = post && form.id && page.getElementById(form.id);
        if (answered) form.replaceChildren(...answered.childNodes);
        const refused = form.querySelector("[aria-invalid]") || form.querySelector(".fault");
        if (post && refused) {
          if (!refused.matches("input, textarea, select")) refused.tabIndex = -1;
          refused.focus();
          announce("Not accepted. " + (form.querySelector(".fault")?.textContent || ""));
          return;
        }
        if (!post) history.replaceState(null, "", address);
        else target.scrollIntoView({ block: "nearest" });
        announce("Updated");
      } catch {
        if (mine === latest) form.submit();
      } finally {
        if (mine === latest) target.removeAttribute("aria-busy");
      }
    };
    form.addEventListener("submit", event => {
      if (event.submitter?.hasAttribute("data-plain")) return;
      event.preventDefault();
      show(event.submitter);
    });
    if (post) continue;
    form.addEventListener("input", event => {
      clearTimeout(wait);
      wait = setTimeout(show, event.target.tagName === "INPUT" && event.target.type !== "checkbox" ? 250 : 0);
    });
  }
})();
