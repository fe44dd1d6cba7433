// A session as a talk for `parley test`: its files, to be copied or saved.

import {Act, told} from "../acts.js";
import {html, useEffect, useRef, useState} from "../ui.js";

export function SaveTest({id}) {
  const [files, setFiles] = useState(null);
  const dialog = useRef(null);
  useEffect(() => {
    if (files) dialog.current.showModal();
  }, [files]);
  return html`
    <${Act} label="Save as test" path=${`/bus/v1/sessions/${id}/test`} done="The conversation is saved as a test." then=${(found) => setFiles(found.files)}
      question="The conversation is held again beside this, with the answers that the model gave. Code of the program runs again." />
    ${files && html`
      <dialog ref=${dialog} class="broad" aria-label="The test" onClose=${() => setFiles(null)}>
        <p>Put these beside the program. They have what people said, under their names.</p>
        ${files.map((file) => html`
          <h3 key=${file.name}>${file.name}</h3>
          ${file.text !== null && html`<pre class="program" tabindex="0" role="region" aria-label=${file.name}>${file.text}</pre>`}
          <div class="buttons">
            <a class="button" download=${file.name.split("/").at(-1)} href=${address(file)} aria-label=${`Download ${file.name}`}>Download</a>
            ${file.text !== null && html`<button aria-label=${`Copy ${file.name}`} onClick=${() => copy(file)}>Copy</button>`}
          </div>`)}
        <div class="buttons"><button class="main" autofocus onClick=${() => dialog.current.close()}>Close</button></div>
      </dialog>`}`;
}

const address = (file) => (file.text === null
  ? `data:application/octet-stream;base64,${file.base64}` : `data:text/plain;charset=utf-8,${encodeURIComponent(file.text)}`);

async function copy(file) {
  try {
    await navigator.clipboard.writeText(file.text);
    told.value = {text: `${file.name} is copied.`, bad: false};
  } catch {
    told.value = {text: "The browser does not let this page copy. Use Download.", bad: true};
  }
}
