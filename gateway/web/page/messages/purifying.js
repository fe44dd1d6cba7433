/** The one sanitiser of the page. Nothing that people, models or libraries wrote reaches the document but through it. */

const purifier = window.DOMPurify;

// The classes that are kept, by the names of elements; elsewhere none is.
const CLASSES = {
  CODE: /^(?:language-[\w+#.-]+|tex(?: block)?)$/,
  SPAN: /^hljs-[\w-]+_?(?: [\w-]+_)*$/,
};
const OF_FORMULAS = /^(?:tml-[\w-]+|mathcal|mathscr)(?: (?:tml-[\w-]+|chr-[\w-]+|wbk-[\w-]+))*$/;
const MATHML = "http://www.w3.org/1998/Math/MathML";

purifier.addHook("afterSanitizeAttributes", (node) => {
  if (node.nodeName === "A" && node.hasAttribute("href") && !node.getAttribute("href").startsWith("#")) {
    node.setAttribute("target", "_blank");
    node.setAttribute("rel", "noopener noreferrer nofollow");
  }
  if (!node.hasAttribute?.("class")) return;
  const allowed = node.namespaceURI === MATHML ? OF_FORMULAS : CLASSES[node.nodeName];
  if (!allowed?.test(node.getAttribute("class"))) node.removeAttribute("class");
});

/** HTML as a fragment of the document, of which only what `rules` allow is left. */
export function purified(html, rules) {
  return purifier.sanitize(html, rules);
}
