//! `imagelint lsp`: an editor on standard input and output, played by a script, and Neovim itself.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use test_repository::{DOCKERFILE, FLEET, TestRepository};

use crate::support::program::imagelint_program;
use crate::support::test_repository;

/// No answer takes longer on the slowest machine.
const PATIENCE: Duration = Duration::from_mins(2);

/// Refused on `old`.
const REFUSED: &str = "# syntax=docker/dockerfile:1\nFROM nvidia/cuda:12.9.1-base-ubuntu22.04 AS final\nRUN true\n";

/// The program as an editor has it.
struct Editor {
    program: Child,
    to: Option<ChildStdin>,
    from: Receiver<Value>,
    folder: String,
    asked: i64,
}

impl Editor {
    /// Starts the program in another folder than the one that is open.
    fn start(repository: &TestRepository, arguments: &[&str]) -> Self {
        let mut command = Command::new(imagelint_program());
        command.arg("lsp").args(arguments).current_dir("/").stdin(Stdio::piped()).stdout(Stdio::piped());
        for variable in ["IMAGELINT_CONFIG", "IMAGELINT_FLEET", "IMAGELINT_KNOWLEDGE"] {
            command.env_remove(variable);
        }
        command.env("XDG_CONFIG_HOME", repository.path(".git/config"));
        let mut program = command.spawn().expect("the program starts");
        let mut out = BufReader::new(program.stdout.take().expect("standard output"));
        let (send, from) = mpsc::channel();
        thread::spawn(move || {
            loop {
                let mut length = 0;
                loop {
                    let mut line = String::new();
                    if out.read_line(&mut line).expect("a header") == 0 {
                        return;
                    }
                    if line == "\r\n" {
                        break;
                    }
                    let value = line.strip_prefix("Content-Length: ").expect("the one header");
                    length = value.trim().parse().expect("a length");
                }
                let mut body = vec![0; length];
                out.read_exact(&mut body).expect("a body");
                let Ok(()) = send.send(serde_json::from_slice(&body).expect("JSON")) else { return };
            }
        });
        let to = program.stdin.take();
        let folder = format!("file://{}", repository.path("").display().to_string().trim_end_matches('/'));
        Self { program, to, from, folder, asked: 0 }
    }

    /// Starts it and agrees on what these capabilities say.
    fn ready(repository: &TestRepository, capabilities: &Value) -> Self {
        let mut editor = Self::start(repository, &["--stdio"]);
        let params = json!({ "processId": null, "rootUri": editor.folder, "capabilities": capabilities });
        let answer = editor.ask("initialize", &params);
        assert_eq!(answer["serverInfo"]["name"], "imagelint");
        editor.tell("initialized", &json!({}));
        editor
    }

    fn raw(&mut self, bytes: &[u8]) {
        let to = self.to.as_mut().expect("standard input");
        to.write_all(bytes).expect("written");
        to.flush().expect("written");
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        self.raw(format!("Content-Length: {}\r\n\r\n{text}", text.len()).as_bytes());
    }

    fn tell(&mut self, method: &str, params: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    fn next(&mut self) -> Value {
        self.from.recv_timeout(PATIENCE).expect("a message from the program")
    }

    /// Sends a request and returns the whole answer; notifications before it are dropped.
    fn answer(&mut self, method: &str, params: &Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let message = self.next();
            if message["id"] == id {
                return message;
            }
        }
    }

    /// The result of a request.
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let answer = self.answer(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    fn uri(&self, name: &str) -> String {
        format!("{}/{name}", self.folder)
    }

    fn open(&mut self, name: &str, text: &str) {
        let item = json!({ "uri": self.uri(name), "languageId": "x", "version": 1, "text": text });
        self.tell("textDocument/didOpen", &json!({ "textDocument": item }));
    }

    fn change(&mut self, name: &str, version: i64, changes: &Value) {
        let document = json!({ "uri": self.uri(name), "version": version });
        self.tell("textDocument/didChange", &json!({ "textDocument": document, "contentChanges": changes }));
    }

    /// Returns the next published diagnostics of a file; of `version`, if it is open.
    fn next_diagnostics(&mut self, name: &str, version: Option<i64>) -> Vec<Value> {
        let uri = self.uri(name);
        loop {
            let message = self.next();
            let params = &message["params"];
            if message["method"] == "textDocument/publishDiagnostics"
                && params["uri"] == uri.as_str()
                && version.is_none_or(|version| params["version"] == version)
            {
                return params["diagnostics"].as_array().expect("a list").clone();
            }
        }
    }

    fn at(&self, name: &str, line: u32, character: u32) -> Value {
        let position = json!({ "line": line, "character": character });
        json!({ "textDocument": { "uri": self.uri(name) }, "position": position })
    }

    fn actions(&mut self, name: &str, line: u32) -> Vec<Value> {
        let repository = json!({ "line": line, "character": 8 });
        let range = json!({ "start": repository, "end": repository });
        let params =
            json!({ "textDocument": { "uri": self.uri(name) }, "range": range, "context": { "diagnostics": [] } });
        self.ask("textDocument/codeAction", &params).as_array().expect("a list").clone()
    }

    fn words(&mut self, name: &str, line: u32, character: u32) -> Vec<String> {
        let params = self.at(name, line, character);
        let found = self.ask("textDocument/completion", &params);
        let found = found.as_array().map(Vec::as_slice).unwrap_or_default();
        found.iter().map(|item| item["label"].as_str().expect("a label").to_owned()).collect()
    }

    /// The exit code, once nothing more is sent.
    fn code(mut self) -> i32 {
        self.to = None;
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if let Some(status) = self.program.try_wait().expect("a status") {
                return status.code().expect("an exit code");
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("the program does not end");
    }

    fn end(mut self) {
        assert_eq!(self.ask("shutdown", &Value::Null), Value::Null);
        self.tell("exit", &Value::Null);
        assert_eq!(self.code(), 0);
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        // One that has ended already is no matter.
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// Line, column, severity and rule of each.
fn brief(diagnostics: &[Value]) -> Vec<String> {
    let one = |diagnostic: &Value| {
        let start = &diagnostic["range"]["start"];
        let code = diagnostic["code"].as_str().unwrap_or("-");
        format!("{}:{} {} {code}", start["line"], start["character"], diagnostic["severity"])
    };
    diagnostics.iter().map(one).collect()
}

fn whole(text: &str) -> Value {
    json!([{ "text": text }])
}

#[test]
fn an_editor_shows_the_findings_of_check() {
    let repository = TestRepository::new();
    repository.file("Dockerfile", REFUSED);
    let report = repository.json(&["check", "Dockerfile"]);
    let finding = &report["subjects"][0]["findings"][0];
    let region = &finding["locations"][0]["region"];
    let mut editor = Editor::ready(&repository, &json!({}));
    editor.open("Dockerfile", REFUSED);
    let diagnostics = editor.next_diagnostics("Dockerfile", Some(1));
    assert_eq!(diagnostics.len(), report["subjects"][0]["findings"].as_array().expect("findings").len());
    let column = |key: &str| region[key].as_u64().expect("a column") - 1;
    assert_eq!(diagnostics[0]["code"], finding["rule"]);
    assert_eq!(diagnostics[0]["source"], "imagelint");
    assert_eq!(diagnostics[0]["range"]["start"], json!({ "line": 1, "character": column("start_column") }));
    assert_eq!(diagnostics[0]["range"]["end"], json!({ "line": 1, "character": column("end_column") }));
    let message = diagnostics[0]["message"].as_str().expect("a message");
    assert!(message.starts_with(finding["message"].as_str().expect("a message")), "{message}");
    assert!(message.contains(finding["help"].as_str().expect("help")), "{message}");
    assert!(message.contains("(pool `old`)"), "{message}");
    let other = &diagnostics[0]["relatedInformation"][0]["location"];
    assert_eq!(other["uri"], editor.uri("fleet.toml"));
    editor.end();
}

#[test]
fn unsaved_editor_text_is_checked() {
    let repository = TestRepository::new();
    let mut editor = Editor::ready(&repository, &json!({}));
    editor.open("Dockerfile", DOCKERFILE);
    assert_eq!(brief(&editor.next_diagnostics("Dockerfile", Some(1))), Vec::<String>::new());
    // 12.4.1 becomes 12.9.1, on the first line.
    let range = json!({ "start": { "line": 0, "character": 20 }, "end": { "line": 0, "character": 21 } });
    editor.change("Dockerfile", 2, &json!([{ "range": range, "text": "9" }]));
    assert_eq!(brief(&editor.next_diagnostics("Dockerfile", Some(2))), ["0:5 1 container-refused"]);
    editor.change("Dockerfile", 3, &whole(DOCKERFILE));
    assert_eq!(brief(&editor.next_diagnostics("Dockerfile", Some(3))), Vec::<String>::new());
    assert_eq!(std::fs::read_to_string(repository.path("Dockerfile")).expect("the file"), DOCKERFILE);
    editor.end();
}

#[test]
fn lsp_columns_use_the_negotiated_encoding() {
    let text = "FROM python:3.10\nRUN echo \u{10400}; pip install torch==1.12.1\n";
    let repository = TestRepository::new();
    for (offered, agreed, wide) in [
        (json!([]), "utf-16", 2),
        (json!(["utf-16"]), "utf-16", 2),
        (json!(["utf-32", "utf-16"]), "utf-32", 1),
        (json!(["utf-16", "utf-8"]), "utf-8", 4),
        (json!(["utf-7"]), "utf-16", 2),
    ] {
        let mut editor = Editor::start(&repository, &[]);
        let capabilities = json!({ "general": { "positionEncodings": offered } });
        let params = json!({ "rootUri": editor.folder, "capabilities": capabilities });
        assert_eq!(editor.ask("initialize", &params)["capabilities"]["positionEncoding"], agreed);
        editor.open("Dockerfile", text);
        let from = "RUN echo ; pip install ".len() + wide;
        assert!(
            brief(&editor.next_diagnostics("Dockerfile", Some(1))).contains(&format!("1:{from} 1 no-kernel-image")),
            "{agreed}"
        );
        // The version is replaced, behind the wide character as well.
        let (from, to) = (from + "torch==".len(), from + "torch==1.12.1".len());
        let range = json!({ "start": { "line": 1, "character": from }, "end": { "line": 1, "character": to } });
        editor.change("Dockerfile", 2, &json!([{ "range": range, "text": "2.4.0" }]));
        let diagnostics = editor.next_diagnostics("Dockerfile", Some(2));
        assert!(!brief(&diagnostics).iter().any(|one| one.ends_with("no-kernel-image")), "{agreed}: {diagnostics:?}");
        editor.end();
    }
}

#[test]
fn unsaved_fleet_text_is_used() {
    let repository = TestRepository::new();
    let mut editor = Editor::ready(&repository, &json!({}));
    editor.open("Dockerfile", REFUSED);
    assert_eq!(brief(&editor.next_diagnostics("Dockerfile", Some(1))), ["1:5 1 container-refused"]);
    editor.open("fleet.toml", FLEET);
    editor.change("fleet.toml", 2, &whole(&FLEET.replace("470.182.03", "580.65.06")));
    loop {
        if editor.next_diagnostics("Dockerfile", Some(1)).is_empty() {
            break;
        }
    }
    // An error in the fleet file is reported at its location, and the Dockerfile is reported as not checked.
    editor.change("fleet.toml", 3, &whole(&FLEET.replace("A100", "A1000000")));
    let (mut fleet, mut dockerfile) = (Vec::new(), Vec::new());
    while fleet.is_empty() || dockerfile.is_empty() {
        let message = editor.next();
        let diagnostics = message["params"]["diagnostics"].as_array().cloned().unwrap_or_default();
        if message["params"]["uri"] == editor.uri("fleet.toml").as_str() {
            fleet = diagnostics;
        } else {
            dockerfile = diagnostics;
        }
    }
    assert_eq!(brief(&fleet), ["2:6 1 -"]);
    assert!(fleet[0]["message"].as_str().expect("a message").starts_with("unknown GPU `A1000000`"), "{fleet:?}");
    assert_eq!(brief(&dockerfile), ["0:0 1 -"]);
    assert!(dockerfile[0]["message"].as_str().expect("a message").starts_with("not checked: "), "{dockerfile:?}");
    editor.end();
}

#[test]
fn unsaved_requirements_file_is_checked_with_its_dockerfile() {
    let repository = TestRepository::new();
    repository.file("Dockerfile", "FROM python:3.10\nCOPY requirements.txt .\nRUN pip install -r requirements.txt\n");
    repository.file("requirements.txt", "numpy\n");
    let mut editor = Editor::ready(&repository, &json!({}));
    editor.open("requirements.txt", "numpy\n");
    assert_eq!(brief(&editor.next_diagnostics("requirements.txt", Some(1))), Vec::<String>::new());
    editor.change("requirements.txt", 2, &whole("# plain\ntorch==1.12.1\n"));
    let diagnostics = editor.next_diagnostics("requirements.txt", Some(2));
    assert!(brief(&diagnostics).contains(&"1:0 1 no-kernel-image".to_owned()), "{diagnostics:?}");
    let hover = editor.at("requirements.txt", 1, 3);
    let hover = editor.ask("textDocument/hover", &hover);
    let text = hover["contents"]["value"].as_str().expect("a text").to_owned();
    assert!(text.contains("- new fails: ") && text.contains("(CUDA error 209)"), "{text}");
    assert!(text.contains("torch 1.12.1") && text.contains("; native code sm_"), "{text}");
    let nothing = editor.at("requirements.txt", 0, 2);
    assert_eq!(editor.ask("textDocument/hover", &nothing), Value::Null);
    // The diagnostics of a closed file are removed.
    editor.tell("textDocument/didClose", &json!({ "textDocument": { "uri": editor.uri("requirements.txt") } }));
    assert_eq!(editor.next_diagnostics("requirements.txt", None), Vec::<Value>::new());
    editor.end();
}

#[test]
fn hover_shows_each_fact_once() {
    let repository = TestRepository::new();
    let capabilities = json!({ "textDocument": { "hover": { "contentFormat": ["plaintext"] } } });
    let mut editor = Editor::ready(&repository, &capabilities);
    // Each of the stages has the variables of its base image, which is read from one place.
    let text = "FROM nvidia/cuda:12.4.1-base-ubuntu22.04 AS one\nRUN pip install torch==2.4.0\nFROM one AS two\nRUN pip install vllm\nFROM two\n";
    editor.open("Dockerfile", text);
    let from = editor.at("Dockerfile", 0, 20);
    let hover = editor.ask("textDocument/hover", &from);
    let text = hover["contents"]["value"].as_str().expect("a text");
    let facts: Vec<&str> =
        text.split("Detected here:").nth(1).expect("facts").lines().filter(|line| !line.is_empty()).collect();
    assert!(facts.iter().any(|fact| fact.starts_with("- NVIDIA_REQUIRE_CUDA=")), "{text}");
    let mut once = facts.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), facts.len(), "{text}");
    editor.end();
}

#[test]
fn hover_shows_the_verdict_of_each_pool_and_its_reason() {
    let repository = TestRepository::new();
    let capabilities = json!({ "textDocument": { "hover": { "contentFormat": ["markdown", "plaintext"] } } });
    let mut editor = Editor::ready(&repository, &capabilities);
    editor.open("Dockerfile", REFUSED);
    let from = editor.at("Dockerfile", 1, 3);
    let hover = editor.ask("textDocument/hover", &from);
    assert_eq!(hover["contents"]["kind"], "markdown");
    assert_eq!(hover["range"]["start"], json!({ "line": 1, "character": 0 }));
    assert_eq!(hover["range"]["end"], json!({ "line": 1, "character": 49 }));
    let text = hover["contents"]["value"].as_str().expect("a text");
    assert!(text.contains("starts on 1 of 2 pools"), "{text}");
    assert!(text.contains("- **old** fails: ") && text.contains("- **new** no failure found"), "{text}");
    for (line, character) in [(0, 4), (2, 2), (99, 99)] {
        let repository = editor.at("Dockerfile", line, character);
        assert_eq!(editor.ask("textDocument/hover", &repository), Value::Null, "{line}:{character}");
    }
    editor.end();
}

#[test]
fn fixes_and_ignores_are_offered_at_diagnostics() {
    let repository = TestRepository::new();
    let capabilities = json!({ "workspace": { "workspaceEdit": { "documentChanges": true } } });
    let mut editor = Editor::ready(&repository, &capabilities);
    editor.open("Dockerfile", REFUSED);
    editor.next_diagnostics("Dockerfile", Some(1));
    assert_eq!(editor.actions("Dockerfile", 2), Vec::<Value>::new(), "no diagnostic is there");
    let actions = editor.actions("Dockerfile", 1);
    let title = |action: &Value| action["title"].as_str().expect("a title").to_owned();
    let ignore = actions.iter().find(|action| title(action) == "Ignore container-refused here").expect("an ignore");
    let change = &ignore["edit"]["documentChanges"][0];
    assert_eq!(change["textDocument"], json!({ "uri": editor.uri("Dockerfile"), "version": 1 }));
    let place_of = json!({ "line": 1, "character": 0 });
    let expected = json!({ "range": { "start": place_of, "end": place_of }, "newText": "# imagelint: ignore[container-refused] \n" });
    assert_eq!(change["edits"], json!([expected]));
    let cure = actions.iter().find(|action| title(action).starts_with("use the tag ")).expect("a cure");
    assert!(title(cure).contains("starts on old"), "{}", title(cure));
    assert_eq!(cure["diagnostics"][0]["code"], "container-refused");
    // What the edit makes of the text is judged to start.
    let edit = &cure["edit"]["documentChanges"][0]["edits"][0];
    editor.change("Dockerfile", 2, &json!([{ "range": edit["range"], "text": edit["newText"] }]));
    assert_eq!(brief(&editor.next_diagnostics("Dockerfile", Some(2))), Vec::<String>::new());
    // Where lines end in two signs, so does the one that is put in.
    editor.change("Dockerfile", 2, &whole(&REFUSED.replace('\n', "\r\n")));
    editor.next_diagnostics("Dockerfile", Some(2));
    let actions = editor.actions("Dockerfile", 1);
    let ignore = actions.iter().find(|action| title(action) == "Ignore container-refused here").expect("an ignore");
    let text = &ignore["edit"]["documentChanges"][0]["edits"][0]["newText"];
    assert_eq!(*text, "# imagelint: ignore[container-refused] \r\n");
    // With the ignore comment, which is above the instruction, there are none either.
    let text = REFUSED.replacen("FROM", "# imagelint: ignore[container-refused] \nFROM", 1);
    editor.change("Dockerfile", 3, &whole(&text));
    assert_eq!(brief(&editor.next_diagnostics("Dockerfile", Some(3))), Vec::<String>::new());
    editor.end();
    // An editor that knows no versions gets none.
    let mut editor = Editor::ready(&repository, &json!({}));
    editor.open("Dockerfile", REFUSED);
    editor.next_diagnostics("Dockerfile", Some(1));
    let uri = editor.uri("Dockerfile");
    assert!(editor.actions("Dockerfile", 1).iter().all(|action| action["edit"]["changes"][&uri].is_array()));
    editor.end();
}

#[test]
fn words_are_offered_where_the_tables_know_them() {
    let repository = TestRepository::new();
    let mut editor = Editor::ready(&repository, &json!({}));
    editor.open("Dockerfile", "# imagelint: pools=\n# imagelint: ignore[x]\nFROM nvidia/cuda:12.\nRUN x:\n");
    editor.open("fleet.toml", "[[pool]]\nname = \"a\"\ngpu = \"A100\"\n");
    assert!(editor.words("Dockerfile", 2, 20).contains(&"12.4.1-base-ubuntu22.04".to_owned()));
    assert!(editor.words("fleet.toml", 2, 7).contains(&"NVIDIA A100-SXM4-40GB".to_owned()));
    assert!(editor.words("Dockerfile", 1, 21).contains(&"container-refused".to_owned()));
    assert_eq!(editor.words("Dockerfile", 0, 19), ["a"], "the fleet as it stands in the editor");
    for (name, line, character) in [("Dockerfile", 3, 6), ("Dockerfile", 2, 3), ("fleet.toml", 1, 8), ("x", 0, 0)] {
        assert_eq!(editor.words(name, line, character), Vec::<String>::new(), "{name}:{line}:{character}");
    }
    editor.end();
}

#[test]
fn invalid_messages_do_not_stop_the_server() {
    let repository = TestRepository::new();
    let mut editor = Editor::start(&repository, &[]);
    let answer = editor.answer("textDocument/hover", &json!({}));
    assert_eq!(answer["error"]["code"], -32_002, "{answer}");
    let params = json!({ "rootUri": editor.folder, "capabilities": "none" });
    editor.ask("initialize", &params);
    for (method, params, code) in [
        ("initialize", json!({}), -32_600),
        ("textDocument/definition", json!({}), -32_601),
        ("textDocument/hover", json!({}), -32_602),
        ("textDocument/hover", json!([1]), -32_602),
        ("textDocument/completion", json!({ "textDocument": { "uri": 1 }, "position": {} }), -32_602),
        ("textDocument/codeAction", Value::Null, -32_602),
    ] {
        assert_eq!(editor.answer(method, &params)["error"]["code"], code, "{method} {params}");
    }
    let unknown = editor.at("nothing", 0, 0);
    assert_eq!(editor.ask("textDocument/hover", &unknown), Value::Null, "what is not open");
    for (method, params) in [
        ("textDocument/didOpen", json!({ "textDocument": {} })),
        ("textDocument/didChange", Value::Null),
        ("textDocument/didClose", json!({ "textDocument": { "uri": "nothing" } })),
        ("textDocument/didSave", json!(7)),
        ("$/setTrace", json!({})),
        ("no/such", Value::Null),
    ] {
        editor.tell(method, &params);
    }
    editor.raw(b"Content-Length: 3\r\n\r\n{]}");
    assert_eq!(editor.next()["error"]["code"], -32_700);
    editor.send(&json!([]));
    assert_eq!(editor.next()["error"]["code"], -32_600);
    // A text with a lost change is reported as not checked, until the whole text is sent.
    editor.open("Dockerfile", REFUSED);
    editor.next_diagnostics("Dockerfile", Some(1));
    let broken = json!({ "start": { "line": -1, "character": 0 }, "end": { "line": 0, "character": 0 } });
    editor.change("Dockerfile", 2, &json!([{ "range": broken, "text": "x" }]));
    let diagnostics = editor.next_diagnostics("Dockerfile", None);
    assert_eq!(brief(&diagnostics), ["0:0 1 -"]);
    assert!(diagnostics[0]["message"].as_str().expect("a message").starts_with("not checked: "), "{diagnostics:?}");
    editor.change("Dockerfile", 3, &whole(REFUSED));
    assert_eq!(brief(&editor.next_diagnostics("Dockerfile", Some(3))), ["1:5 1 container-refused"]);
    editor.change("Dockerfile", 4, &whole(&"#\n".repeat(3 << 20)));
    assert_eq!(brief(&editor.next_diagnostics("Dockerfile", Some(4))), ["0:0 1 -"], "a text that is too long");
    editor.raw(format!("Content-Length: {}\r\n\r\n", 40 << 20).as_bytes());
    editor.raw(&vec![b' '; 40 << 20]);
    assert_eq!(editor.ask("shutdown", &Value::Null), Value::Null, "after a message that is too long");
    assert_eq!(editor.answer("shutdown", &Value::Null)["error"]["code"], -32_600);
    editor.tell("exit", &Value::Null);
    assert_eq!(editor.code(), 0);
}

#[test]
fn lsp_without_shutdown_exits_with_1() {
    let repository = TestRepository::new();
    assert_eq!(Editor::ready(&repository, &json!({})).code(), 1, "the pipe is closed");
    let mut editor = Editor::ready(&repository, &json!({}));
    editor.tell("exit", &Value::Null);
    assert_eq!(editor.code(), 1, "exit without shutdown");
    let mut editor = Editor::start(&repository, &[]);
    editor.raw(b"GET / HTTP/1.1\r\n\r\n");
    assert_eq!(editor.code(), 2, "another protocol");
}

#[test]
fn neovim_shows_diagnostics_and_applies_code_actions() {
    let repository = TestRepository::new();
    repository.file("Dockerfile", REFUSED);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lsp/neovim.lua");
    let mut command = Command::new("nvim");
    command.args(["--headless", "--clean", "-n", "-c"]).arg(format!("luafile {}", script.display())).arg("Dockerfile");
    command.current_dir(repository.path("")).env("IMAGELINT", imagelint_program());
    command.env("XDG_CONFIG_HOME", repository.path(".git/config")).env("XDG_STATE_HOME", repository.path(".git/state"));
    let done = command.output().expect("nvim; tests/install-tools installs it");
    let out = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    let seen: Vec<Value> = out.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let [first, hover, fixed, ignored] = seen.as_slice() else { panic!("{out}") };
    assert_eq!(first["diagnostics"].as_array().map(Vec::len), Some(1), "{first}");
    let diagnostic = &first["diagnostics"][0];
    assert_eq!(
        (&diagnostic["lnum"], &diagnostic["col"], &diagnostic["severity"]),
        (&json!(1), &json!(5), &json!(1)),
        "{diagnostic}"
    );
    assert_eq!(diagnostic["source"], "imagelint");
    let message = diagnostic["message"].as_str().expect("a message");
    assert!(message.contains("unsatisfied condition: cuda>=12.9"), "{message}");
    assert!(hover.to_string().contains("starts on 1 of 2 pools"), "{hover}");
    assert_eq!(fixed["diagnostics"], json!([]), "{fixed}");
    let line = fixed["lines"][1].as_str().expect("a line");
    assert!(
        line.starts_with("FROM nvidia/cuda:1") && !line.contains("12.9.1") && line.ends_with(" AS final"),
        "{line}"
    );
    assert_eq!(ignored["diagnostics"], json!([]), "{ignored}");
    assert_eq!(ignored["lines"][1], "# imagelint: ignore[container-refused] ");
    assert_eq!(ignored["lines"][0], "# syntax=docker/dockerfile:1");
}
