/** The theme that the person has chosen, before anything is drawn; without one it is the system's. */

try {
  document.documentElement.dataset.theme = localStorage.getItem("parley-theme") ?? "system";
} catch {
  document.documentElement.dataset.theme = "system"; // storage is forbidden
}
