/** Requests about people, as JSON; each answer is {data} or {error} in words. */

const AWAY = "The gateway cannot be reached. Try again in a moment.";

export async function ask(path, form = {}) {
  try {
    const response = await fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(form) });
    const data = response.status === 204 ? {} : await response.json();
    return response.ok ? { data } : { error: data.error ?? AWAY };
  } catch {
    return { error: AWAY };
  }
}
