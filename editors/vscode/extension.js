// Programs of Parley in VS Code: the language server, the debugger and the talks. See docs/programs/editors.md.

const { spawn } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

const DEBUG_PORT = 7529;
let client;

/** The program parley, with the folder put in for ${workspaceFolder}. */
function parley() {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? "";
  return vscode.workspace.getConfiguration("parley").get("command", "parley").replaceAll("${workspaceFolder}", folder);
}

/** Run parley in a terminal that people see. */
function inTerminal(words, file) {
  const terminal = vscode.window.createTerminal({ name: "Parley", cwd: path.dirname(file) });
  terminal.show();
  terminal.sendText([parley(), ...words, file].map(quoted).join(" "));
}

/** A word for a shell, which looks for nothing in it: files of strangers may be named `$(…)`. */
function quoted(word) {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

function fileOf(given) {
  return typeof given === "string" ? given : vscode.window.activeTextEditor?.document.uri.fsPath;
}

function addCommands(context) {
  const commands = {
    "parley.run": (file) => inTerminal(["run"], file),
    "parley.test": (file) => inTerminal(["test"], file.endsWith(".pb") ? file : file.replace(/\.[^.]+$/, ".test.md")),
    "parley.debug": (file) => {
      inTerminal(["run", "--debug"], file);
      vscode.window.showInformationMessage("When it runs, start debugging with “Attach to Parley”.");
    },
  };
  for (const [name, act] of Object.entries(commands)) {
    context.subscriptions.push(
      vscode.commands.registerCommand(name, (given) => {
        const file = fileOf(given);
        if (file) act(file);
      }),
    );
  }
}

/** The debugger is a server that `parley run --debug` opens. */
function addDebugger(context) {
  const factory = {
    createDebugAdapterDescriptor: ({ configuration }) =>
      new vscode.DebugAdapterServer(configuration.port ?? DEBUG_PORT, configuration.host ?? "127.0.0.1"),
  };
  const provider = {
    resolveDebugConfiguration: (_folder, configuration) =>
      configuration.type ? configuration : { type: "parley", request: "attach", name: "Parley", port: DEBUG_PORT },
  };
  context.subscriptions.push(
    vscode.debug.registerDebugAdapterDescriptorFactory("parley", factory),
    vscode.debug.registerDebugConfigurationProvider("parley", provider),
  );
}

/** The titles of a file's talks, with their lines. */
function talksIn(text) {
  const found = [];
  let fence = "";
  text.split(/\r?\n/).forEach((row, line) => {
    const marks = /^\s*(`{3,}|~{3,})/.exec(row)?.[1];
    if (marks && (!fence || marks.startsWith(fence))) fence = fence ? "" : marks;
    else if (!fence && row.startsWith("## ")) found.push({ title: row.slice(3).trim(), line });
  });
  return found;
}

async function addTests(context) {
  const tests = vscode.tests.createTestController("parley", "Parley");
  context.subscriptions.push(tests);

  async function read(uri) {
    const text = new TextDecoder().decode(await vscode.workspace.fs.readFile(uri));
    const item = tests.createTestItem(uri.toString(), path.basename(uri.fsPath), uri);
    for (const { title, line } of talksIn(text)) {
      const talk = tests.createTestItem(`${uri}#${title}`, title, uri);
      talk.range = new vscode.Range(line, 0, line, title.length + 3);
      item.children.add(talk);
    }
    tests.items.add(item);
  }

  const watcher = vscode.workspace.createFileSystemWatcher("**/*.test.md");
  context.subscriptions.push(watcher);
  watcher.onDidCreate(read);
  watcher.onDidChange(read);
  watcher.onDidDelete((uri) => tests.items.delete(uri.toString()));
  for (const uri of await vscode.workspace.findFiles("**/*.test.md", "**/{node_modules,.venv}/**")) await read(uri);

  tests.createRunProfile("Run", vscode.TestRunProfileKind.Run, async (request, token) => {
    const run = tests.createTestRun(request);
    const asked = request.include ?? [...tests.items].map(([, item]) => item);
    const files = new Map();
    for (const item of asked) {
      const talks = item.children.size ? [...item.children].map(([, child]) => child) : [item];
      const key = item.uri.fsPath;
      files.set(key, [...(files.get(key) ?? []), ...talks.filter((talk) => !request.exclude?.includes(talk))]);
    }
    for (const [file, talks] of files) {
      if (!token.isCancellationRequested) await runFile(run, file, talks, token);
    }
    run.end();
  });
}

/** Hold a file's talks, and say of each asked one how it ended. */
async function runFile(run, file, talks, token) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "parley-"));
  const results = path.join(folder, "results.xml");
  for (const talk of talks) run.started(talk);
  const began = Date.now();
  const output = await new Promise((resolve) => {
    const child = spawn(parley(), ["test", file, "--junit", results], { cwd: path.dirname(file) });
    let said = "";
    child.stdout.on("data", (data) => (said += data));
    child.stderr.on("data", (data) => (said += data));
    child.on("error", (error) => resolve(`${error.message}. Set parley.command to the program parley.`));
    child.on("close", () => resolve(said));
    token.onCancellationRequested(() => child.kill());
  });
  run.appendOutput(output.replace(/\r?\n/g, "\r\n"));
  const xml = fs.existsSync(results) ? fs.readFileSync(results, "utf8") : "";
  fs.rmSync(folder, { recursive: true, force: true });
  for (const talk of talks) {
    const found = resultOf(xml, talk.label);
    if (!found) run.errored(talk, new vscode.TestMessage(output || "parley test gave no result."));
    else if (found.failure) run.failed(talk, new vscode.TestMessage(found.failure), Date.now() - began);
    else run.passed(talk, Date.now() - began);
  }
}

/** How a talk ended, by JUnit's file; null where it is not in it. */
function resultOf(xml, title) {
  const plain = (text) =>
    text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&apos;", "'").replaceAll("&#10;", "\n").replaceAll("&amp;", "&");
  for (const [, attributes, , inner] of xml.matchAll(/<testcase\b([^>]*?)(\/>|>([\s\S]*?)<\/testcase>)/g)) {
    const name = /\bname="([^"]*)"/.exec(attributes)?.[1] ?? "";
    if (plain(name) !== title) continue;
    const failure = /<(?:failure|error)\b[^>]*?(?:message="([^"]*)")?[^>]*>([\s\S]*?)<\//.exec(inner ?? "");
    return { failure: failure ? plain(failure[2] || failure[1] || "It failed.") : "" };
  }
  return null;
}

async function activate(context) {
  const command = parley();
  client = new LanguageClient(
    "parley",
    "Parley",
    { command, args: ["lsp"] },
    { documentSelector: [{ language: "parley" }] },
  );
  addCommands(context);
  addDebugger(context);
  await addTests(context);
  try {
    await client.start();
  } catch (error) {
    vscode.window.showWarningMessage(`${command} lsp does not start (${error.message}). Set parley.command, and install pygls beside it.`);
  }
}

function deactivate() {
  return client?.stop();
}

module.exports = { activate, deactivate, quoted, resultOf, talksIn };
