//! No decision compares prose. A cause, an outcome or a state is an enum; its wording is for readers alone.
//!
//! The sentences of unknown values and their remedies are in `src/model/cause/mod.rs`, those of notes in
//! `src/model/note.rs`. What reads a file that holds only sentences, or the output of another program, is exempt line
//! by line.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::architecture::scan;
use crate::architecture::scan::{Kind, pattern};

/// `FIELD` in a way: a field or method with a value of a closed set.
const FIELD: &str =
    r"(?:fate|outcome|result|severity|state|status|reason|route|safety|confidence|depth|kind)\b(?:\(\))?";

/// `PATH` in a way: what a field belongs to.
const PATH: &str = r"[&*]*(?:\w+(?:\(\))?\.)+";

/// `AS_TEXT` in a way: calls that turn a value of a closed set into its name or its sentence.
const AS_TEXT: &str =
    r"(?:\.as_ref\(\))?(?:\.(?:as_str|as_deref|name|rule_name|label|reason|remedy|message|to_string)\(\))+";

/// `SEARCH` in a way: methods that search a text or take it apart.
const SEARCH: &str =
    r"(?:contains|starts_with|ends_with|strip_prefix|strip_suffix|split_once|rsplit_once|find|split)\(";

/// A way to decide by prose, a line that does it, and a line that is similar and does not.
const WAYS: &[(&str, &str, &str, &str)] = &[
    (
        "a reason compared with a constant or another reason",
        r"\b(?:reason|why|because|cause)\s*[=!]=\s*&?(?:[A-Z][A-Z_]+\b|[a-z_]\w*\b)",
        "Lookup::Unknown(_, reason) if reason == SET_NOWHERE => None,",
        "Lookup::Unknown(_, Cause::SetNowhere) => None,",
    ),
    (
        "a field of a closed set compared with text",
        r#"\.FIELD\s*[=!]=\s*(?:Some\(\s*)?""#,
        r#"if verdict.fate == "fails" {"#,
        "if verdict.fate == VerdictKind::Fails {",
    ),
    (
        "text compared with a field of a closed set",
        r#""\s*\)?\s*[=!]=\s*PATHFIELD"#,
        r#"if "fails" == verdict.fate {"#,
        "if VerdictKind::Fails == verdict.fate {",
    ),
    (
        "the name of a field of a closed set, compared",
        r"\.FIELDAS_TEXT\s*[=!]=",
        r#"if verdict.fate.as_str() == "fails" {"#,
        r#"if verdict.pool.as_str() == "a100" {"#,
    ),
    (
        "a text compared with the name of a field of a closed set",
        r"[=!]=\s*PATHFIELDAS_TEXT",
        "words.any(|word| word == finding.severity.name())",
        "words.any(|word| word == finding.rule.name())",
    ),
    (
        "a field of a closed set matched as text",
        r"\bmatch\s+PATHFIELDAS_TEXT",
        "match verdict.outcome.as_deref() {",
        "match verdict.outcome {",
    ),
    (
        "a field of a closed set in `matches!` as text",
        r"\bmatches!\(\s*PATHFIELDAS_TEXT",
        r#"matches!(verdict.fate.as_str(), "fails" | "depends")"#,
        "matches!(verdict.fate, VerdictKind::Fails | VerdictKind::Depends)",
    ),
    (
        "a field of a closed set looked for by its name",
        r"\.contains\(\s*PATHFIELDAS_TEXT",
        r#"["fails", "depends"].contains(&verdict.fate.as_str())"#,
        "[VerdictKind::Fails, VerdictKind::Depends].contains(&verdict.fate)",
    ),
    (
        "a field of a closed set looked for in a list of literals",
        r#""\s*,?\s*\]\s*\.contains\(\s*PATHFIELD"#,
        r#"["fails", "depends"].contains(&verdict.fate)"#,
        r#"["a100", "h100"].contains(&verdict.pool)"#,
    ),
    (
        "an unknown value compared as a whole",
        r"[=!]=\s*(?:\w+::)*(?:Unknown|Unresolved|Undetermined)\s*\(",
        "if package.offered == Offered::Unknown(why.clone()) {",
        "if let Offered::Unknown(Cause::BuildNotKnown { .. }) = &package.offered {",
    ),
    (
        "a value compared by its name or sentence",
        r"[=!]=\s*&?\w+(?:::\w+)+(?:\([^()]*\)|\s*\{[^{}]*\})?AS_TEXT",
        "copy.missing == Missing::NotThere.to_string()",
        "copy.missing == Missing::NotThere",
    ),
    (
        "the name or sentence of a value, compared",
        r"\b[A-Z]\w*::[A-Z]\w*(?:\([^()]*\)|\s*\{[^{}]*\})?AS_TEXT\s*[=!]=",
        "if Launch::Native.as_str() == self.launch {",
        "if Launch::Native == self.launch {",
    ),
    (
        "a sentence compared with a literal",
        r#"[=!]=\s*"[^"\n]*[a-z] [a-z][^"\n]*""#,
        r#"if text == "neither the file nor its base image sets it" {"#,
        r#"if text == "--index-url" {"#,
    ),
    (
        "a reason that is searched or taken apart",
        r"\b(?:reason|why|because|cause)(?:\.reason)?(?:\(\))?\.(?:contains|starts_with|ends_with|strip_prefix|strip_suffix|split_once|find|split)\(",
        r#"let rest = reason.strip_prefix("its value ");"#,
        r#"let rest = value.strip_prefix("its-value");"#,
    ),
    (
        "a message that is searched or taken apart",
        r"\b(?:\w+_)?(?:message|sentence|title|explanation|(?:verdict|outcome|failure|result|reason)_text)(?:\([^()]*\))?(?:\.as_(?:str|deref|ref)\(\))?\s*\.SEARCH",
        r#"let codes = message.strip_prefix("error ");"#,
        r#"let codes = option.strip_prefix("error=");"#,
    ),
    (
        "a help text or a label that is searched or taken apart",
        r"\b(?:help|supply|supplies|label|remedy)(?:\([^()]*\))?(?:\.as_(?:str|deref|ref)\(\))*\s*\.SEARCH",
        r#"group.first.help.as_ref().is_some_and(|help| help.contains("--pull"))"#,
        r"group.first.help.as_ref().is_some_and(|help| pulled.contains(help))",
    ),
    (
        "the text of a build, taken apart",
        r#"\bbuild(?:\.as_(?:str|deref|ref)\(\))*\s*\.(?:contains|starts_with|ends_with|strip_prefix|strip_suffix)\(\s*"[^"\n]* ""#,
        r#"build.starts_with("on ")"#,
        r#"build.starts_with("cu")"#,
    ),
    (
        "a sentence that is searched or taken apart",
        r#"\.(?:contains|starts_with|ends_with|strip_prefix|strip_suffix|split_once|rsplit_once|find)\(\s*"[^"\n]*[a-z] [a-z][^"\n]*""#,
        r#"let (_, term) = message.split_once("unsatisfied condition: ")?;"#,
        r#"let term = requirement.strip_prefix("cuda>=")?;"#,
    ),
    (
        "a closed set held as text",
        r"\b(?:fate|outcome|severity|reason|cause|why|because|route|safety)\s*:\s*(?:Option<)?String\b",
        "pub because: Option<String>,",
        "pub because: Option<Box<Cause>>,",
    ),
    (
        "a closed set held as borrowed or shared text",
        r"(?m)^[ \t]*(?:pub(?:\([^)]*\))?\s+)?(?:fate|outcome|severity|reason|cause|why|because|route|safety|state|result|kind|status|launch)\s*:\s*(?:Option<\s*)?(?:(?:\w+::)*Cow<\s*(?:'\w+\s*,\s*)?str\b|(?:Box|Rc|Arc)<\s*str\b|&(?:'\w+\s+)?str\b)",
        "pub outcome: Option<&'static str>,",
        "pub outcome: Option<Outcome>,",
    ),
    (
        "a cause held as text",
        r"\b(?:Unknown|Unresolved|Undetermined|Unread|NotRead)\s*\(\s*(?:Option<)?String\b",
        "    Unknown(String),",
        "    Unknown(Cause),",
    ),
    (
        "the sentence of a cause",
        r"(?:\.remedy\(\)|\b(?:\w*(?:why|cause|because)|reason|unknown)(?:\([^()]*\))?\.(?:reason|to_string)\(\)|\bCause::(?:reason|remedy|to_string)\b)",
        "let text = why.reason();",
        "let outcome = failure.outcome();",
    ),
    (
        "a sentence passed to a predicate",
        r"\b(?:is|has|may|mentions|names|says|matches|looks|contains)_\w+\(\s*&?(?:\w+\.)*(?:reason|remedy|explain|to_string|line)\(\)",
        "lists.iter().find(|(_, why)| mentions_gpu(&why.reason()))",
        "packages.iter().find(|package| mentions_gpu(&package.requirement.name))",
    ),
    (
        "sentences that are looked for one after the other",
        r#"\[(?:\s*"[^"\n]*[a-z] [a-z][^"\n]*",?)+\s*\]\s*\.(?:iter|into_iter)\(\)"#,
        r#"let rest = [" was not read: ", " was not inspected: "].iter().find_map(|words| note.split_once(words));"#,
        r#"let rest = ["==", ">="].iter().find_map(|sign| range.split_once(sign));"#,
    ),
];

/// Other lines that a way finds, and similar lines that none does.
const OTHER_FORMS: &[(&str, &str, &str)] = &[
    (
        "a field of a closed set compared with text",
        r#"if verdict.outcome() == Some("no-gpu") {"#,
        "if verdict.outcome() == Some(Outcome::NoGpu) {",
    ),
    ("a field of a closed set compared with text", r#"if row.kind != "word" {"#, r#"if row.word != "kind" {"#),
    (
        "the name of a field of a closed set, compared",
        r#"if step.result.to_string() != "passes" {"#,
        "if step.result != StepStatus::Passes {",
    ),
    (
        "a field of a closed set matched as text",
        "match verdict.fate.to_string().as_str() {",
        "match verdict.pool.to_string().as_str() {",
    ),
    ("a field of a closed set matched as text", "match fix.safety.name() {", "match fix.safety {"),
    (
        "a field of a closed set in `matches!` as text",
        r#"matches!(fact.state.name(), "known")"#,
        r#"matches!(fact.key.name(), "code")"#,
    ),
    (
        "a value compared by its name or sentence",
        "if sentence == Cause::SeveralBuilds.reason() {",
        "if *found == Cause::SeveralBuilds {",
    ),
    (
        "a value compared by its name or sentence",
        "self.launch == Launch::Native.as_str()",
        "self.launch == Launch::Native",
    ),
    (
        "a message that is searched or taken apart",
        r#"Undetermined if step.message.starts_with("unknown") => step.message.clone(),"#,
        r#"Undetermined if step.name.starts_with("unknown") => step.message.clone(),"#,
    ),
    (
        "a message that is searched or taken apart",
        r#"if sentence.ends_with("unknown") {"#,
        r"if sentences.is_empty() {",
    ),
    (
        "a message that is searched or taken apart",
        r#"if fix.title.contains("driver") {"#,
        r#"if fix.drivers.contains("driver") {"#,
    ),
    (
        "a message that is searched or taken apart",
        r#"let (_, more) = reason_text(verdict).split_once("), ")?;"#,
        r#"let (name, more) = file_text(path).split_once("), ")?;"#,
    ),
    (
        "a reason that is searched or taken apart",
        r#"if reason.contains("wheel") {"#,
        r"if reasons.contains(&Reason::Wheel) {",
    ),
    ("a closed set held as borrowed or shared text", "reason: Cow<'a, str>,", "reasons: Cow<'a, [Cause]>,"),
    ("a closed set held as borrowed or shared text", "pub(super) cause: Cow<str>,", "pub(super) text: Cow<str>,"),
    ("a closed set held as borrowed or shared text", "reason: Option<Box<str>>,", "reason: Option<Box<Cause>>,"),
];

/// As `WAYS`, for sentences with a name: `CONSTANT` and `VARIABLE` stand for the names of those of the file, and
/// `CONSTANT` for those that other files may use.
const NAMED: &[(&str, &str, &str, &str)] = &[
    (
        "a sentence with a name that is searched for",
        r"\.(?:contains|starts_with|ends_with|strip_prefix|strip_suffix|split_once|rsplit_once|find|split)\(\s*&?(?:\w+::)*(?:CONSTANT)\b",
        "if note.starts_with(UNKNOWN_PACKAGES) {",
        "if word.starts_with(INDEX_OPTION) {",
    ),
    (
        "a variable with a sentence that is searched for",
        r"\.(?:contains|starts_with|ends_with|strip_prefix|strip_suffix|split_once|rsplit_once|find|split)\(\s*&?(?:VARIABLE)\b",
        r#"let between = " was not read: "; note.split_once(between)"#,
        r#"let between = "=="; word.split_once(between)"#,
    ),
    (
        "a sentence with a name that is compared",
        r"[=!]=\s*&?(?:\w+::)*(?:CONSTANT)\b",
        "notes.retain(|note| note != UNKNOWN_PACKAGES);",
        "words.retain(|word| word != INDEX_OPTION);",
    ),
];

/// Constants of the planted instances.
const PLANTED: &str = "const UNKNOWN_PACKAGES: &str = \"a command installs unknown packages\";\n\
                       const INDEX_OPTION: &str = \"--index-url\";\n";

/// A constant or variable that is a sentence: whether other files may use it, and its name.
const SENTENCE: &str =
    r#"(\bpub(?:\([^)]*\))?\s+)?\b(?:const|static|let)\s+(\w+)\s*(?::[^=;]*)?=\s*&?\[?\s*"[^"\n]*[a-z] [a-z][^"\n]*""#;

/// Lines that may do it: file, a part of the line, and why.
const EXEMPT: &[(&str, &str, &str)] = &[
    ("model/cause/mod.rs", "=> because.remedy();", "the remedy of a cause is that of another"),
    ("model/cause/mod.rs", "because.remedy());", "the remedy of a cause contains that of another"),
    ("model/cause/mod.rs", "=> words.remedy();", "the remedy of a part of the cause"),
    ("model/cause/mod.rs", "=> file.remedy();", "the remedy of a part of the cause"),
    ("model/cause/mod.rs", "=> base.remedy();", "the remedy of a part of the cause"),
    ("model/cause/mod.rs", "Recorded { kind: RecordedKind, reason: String", "files hold only the sentence"),
    ("model/cause/explanation.rs", "    pub reason: String,", "rendered, beside its cause"),
    ("model/cause/mod.rs", "    reason: String,", "the cause as files hold it"),
    ("model/cause/explanation.rs", "Self { subject: None, reason: cause.reason(), cause", "rendered, beside its cause"),
    ("model/cause/explanation.rs", "self.cause == other.cause", "causes, not their sentences"),
    ("model/cause/mod.rs", "(self.reason(), self.remedy()).cmp(", "sorts what a reader sees"),
    ("model/cause/mod.rs", "Self { reason: cause.reason(), remedy: cause.remedy() }", "the cause as files hold it"),
    ("model/cause/mod.rs", "because.reason().strip_prefix(\"it \")", "joins two sentences"),
    ("model/cause/mod.rs", "let reason = self.because.reason();", "joins two sentences"),
    ("model/cause/mod.rs", "reason.strip_prefix(\"its value \")", "joins two sentences"),
    (
        "model/cause/recorded.rs",
        "sentence == Cause::SeveralBuilds.reason()",
        "reports of schema 1 and image descriptions hold a cause only as its sentence",
    ),
    ("model/cause/recorded.rs", "sentence.strip_prefix(start)", "parses the sentence that a file holds"),
    ("model/cause/recorded.rs", "sentence.strip_prefix(COMMAND_INSTALLS)", "parses the sentence that a file holds"),
    ("model/cause/recorded.rs", "rest.strip_prefix(FROM_INDEX)", "parses the sentence that a file holds"),
    ("model/cause/recorded.rs", "effect.split_once(FROM_INDEX)", "parses the sentence that a file holds"),
    ("model/cause/recorded.rs", "reason.strip_prefix(\"the value of \")", "parses the sentence that a file holds"),
    ("model/cause/recorded.rs", "folder.split_once(\" are unknown: \")", "parses the sentence that a file holds"),
    ("model/cause/recorded.rs", "reason.split_once(\" has no default; \")", "parses the sentence that a file holds"),
    ("model/cause/recorded.rs", "sentence.strip_suffix(\" is unknown\")", "parses the sentence that a file holds"),
    ("model/cause/recorded.rs", "filter(|_| remedy == ALL_LAYERS)", "parses the sentence that a file holds"),
    (
        "model/cause/explanation.rs",
        "text.split_once(\" is unknown: \")",
        "parts of a sentence that a file holds, for a title",
    ),
    (
        "model/cause/explanation.rs",
        "reason.split_once(\", and \")",
        "parts of a sentence that a file holds, for a title",
    ),
    ("model/note.rs", "line.starts_with(COMMAND_INSTALLS)", "parses the line that a file holds"),
    ("model/note.rs", "None if line == NO_POOL", "parses the line that a file holds"),
    ("model/fact/saved_facts.rs", "searched == REMOVED_BY_COMMAND", "parses the sentence that a file holds"),
    ("extract/description.rs", "reason: cause.reason(),", "written into an image description"),
    ("extract/description.rs", "supply: Some(cause.remedy()),", "written into an image description"),
    ("extract/description.rs", "Some(text(&why.reason()))", "written into an image description"),
    ("extract/description.rs", "Some(spanned_text(&why.reason()))", "written into an image description"),
    ("extract/description.rs", "Some(why.reason())", "written into an image description"),
    ("extract/description.rs", ".map(Cause::reason),", "written into an image description"),
    ("extract/target_reader.rs", "Note::from(cause.reason())", "written into a note"),
    ("extract/command_reader.rs", "self.folder != UNKNOWN_FOLDER", "a path that no folder has"),
    ("describe/mod.rs", "pub reason: String,", "the words of an image description"),
    ("dockerfile/ast.rs", "        reason: String,", "the reason that a user writes in a suppression"),
    ("dockerfile/ast.rs", "    Unknown(String),", "the keyword of an instruction"),
    ("fleet/settings/tables.rs", "pub reason: String,", "the reason that a user writes in a suppression"),
    ("rules/page.rs", "pub why: String,", "a section of a rule page"),
    ("rules/page_header.rs", "error.message().starts_with(\"unknown field\")", "the TOML reader has no error code"),
    (
        "registry/credential_helper.rs",
        "text.contains(\"credentials not found\")",
        "the protocol of credential helpers has no error code",
    ),
    ("registry/error_body.rs", "start.starts_with(\"<!doctype html\")", "HTML of a proxy"),
    (
        "registry/http_client.rs",
        "text.contains(\"invalid peer certificate\")",
        "the HTTP client holds the error of the TLS library as text",
    ),
    (
        "registry/http_client.rs",
        "text.contains(\"corrupt message\")",
        "the HTTP client holds the error of the TLS library as text",
    ),
    (
        "registry/http_client.rs",
        "text.contains(\"tls handshake eof\")",
        "the HTTP client holds the error of the TLS library as text",
    ),
    ("layer/tar_stream.rs", "error: cause.to_string()", "an error of the operating system"),
    ("infer/cuda_callers.rs", "*list != UNNAMED_LIST", "a part of the key of a fact"),
    ("cli/args/judging.rs", "pub(crate) why: Option<String>,", "the value of an option"),
    ("cli/build_definitions.rs", "Err(why.to_string())", "printed"),
    ("judge/facts.rs", "why.reason(), why.remedy()", "printed"),
    ("judge/open_verdict_findings.rs", "supply: cause.remedy()", "printed"),
    ("judge/undecided_conditions.rs", "(Some(why), _) => why.reason(),", "printed"),
    ("judge/undecided_conditions.rs", "map_or_else(open, Cause::remedy)", "printed"),
    ("judge/verdict.rs", "explanation: Some(cause.to_string())", "printed"),
    ("judge/verdict.rs", "supply: cause.remedy()", "printed"),
    ("judge/verdict.rs", "supply: missing.cause.remedy()", "printed"),
    ("judge/verdict.rs", "supply: why.remedy()", "printed"),
    ("judge/verdict.rs", "map(|(_, why)| why.reason())", "printed"),
    ("report/model.rs", "pub cause: Option<String>,", "printed"),
    ("report/model.rs", "pub why: Option<String>,", "printed"),
    ("report/html.rs", "cause: Option<String>,", "printed"),
    (
        "report/phrases.rs",
        "finding.message.contains(&format!(\"`{pool}`\"))",
        "the template of a rule may name the pools, and only its text tells",
    ),
    (
        "report/human.rs",
        "place.label.contains(&format!(\"pool {pool}:\"))",
        "chooses which lines of the fleet file a text report shows, of those that the finding has",
    ),
    ("judge/verdict.rs", "!supply.contains(way)", "prints the longer of two remedies that contain each other"),
    (
        "judge/open_verdict_findings.rs",
        "!gap.supply.contains(one.as_str())",
        "prints the longer of two remedies that contain each other",
    ),
    ("knowledge/toml_reader.rs", "!help.contains('\\n')", "the help of the TOML reader, printed on one line"),
    ("fleet/pool_field.rs", "self.remedy() }", "printed"),
    ("judge/verdict.rs", "field.remedy_if_undeclared() } else", "printed"),
    ("cli/rule_page_text.rs", "!label.contains(['[', ']'])", "the text of a Markdown link"),
    ("cli/args/flag_order.rs", "help.contains(&word.as_ref())", "the names of the options for help"),
    ("report/verdict_table.rs", "row.title.starts_with(folder)", "the path of an image"),
    ("fix/tested_fix.rs", "!title.contains(words)", "the title of an earlier test may end with the same words"),
    ("knowledge/base_images.rs", "row.kind == \"", "a word of a knowledge table"),
    ("fleet/inventory/kubernetes.rs", ".kind.as_deref() == Some(\"Node", "the kind of a Kubernetes object"),
    ("registry/pull_error.rs", "reason: &'static str,", "printed"),
    ("fix/recommend/model.rs", "pub because: Option<String>,", "printed: the message of a verdict"),
    ("fix/needs/survey.rs", "why.reason(), why.remedy()", "printed"),
    ("fix/needs/detected_facts.rs", "Self::Fact(cause) => cause.remedy(),", "printed"),
    ("fix/needs/detected_facts.rs", "Gap::ProgramCode(why.remedy())", "printed"),
    ("fix/needs/detected_facts.rs", "gap.because(), gap.remedy()", "printed"),
];

/// The source without comments and tests.
fn shipped(text: &str) -> String {
    let code = scan::only(text, &[Kind::Code, Kind::Literal]);
    let plain = scan::only(text, &[Kind::Code]);
    let tests = scan::bodies(&plain, r"#\[cfg\(test\)\]\s*mod\s+\w+\s*\{");
    scan::without(&code, &tests)
}

/// The names of sentences in a source; only of those that other files may use if they are `shared`.
fn sentences(shipped: &str, shared: bool) -> BTreeSet<String> {
    let found = pattern(SENTENCE);
    let of_all = found.captures_iter(shipped).filter(|captures| !shared || captures.get(1).is_some());
    of_all.map(|captures| captures[2].to_owned()).collect()
}

/// The pattern of a way, with what its parts stand for.
fn with_parts(way: &str) -> String {
    let parts = [("PATH", PATH), ("FIELD", FIELD), ("AS_TEXT", AS_TEXT), ("SEARCH", SEARCH)];
    parts.iter().fold(way.to_owned(), |way, (part, meaning)| way.replace(part, meaning))
}

/// The ways that Rust source without comments and tests decides by prose: the line and what it does. `shared` are
/// the sentences of other files.
fn found(shipped: &str, shared: &BTreeSet<String>) -> Vec<(usize, &'static str)> {
    let own = sentences(shipped, false);
    let is_constant = |name: &&String| name.starts_with(|first: char| first.is_ascii_uppercase());
    let used = shared.iter().filter(|name| shipped.contains(name.as_str()));
    let constants: BTreeSet<&str> = own.iter().filter(is_constant).chain(used).map(String::as_str).collect();
    let variables: BTreeSet<&str> = own.iter().filter(|name| !is_constant(name)).map(String::as_str).collect();
    let any = |names: BTreeSet<&str>| names.into_iter().collect::<Vec<_>>().join("|");
    let (constants, variables) = (any(constants), any(variables));
    let named = NAMED.iter().filter_map(|(what, way, ..)| {
        let names = if way.contains("CONSTANT") { &constants } else { &variables };
        (!names.is_empty()).then(|| (*what, way.replace("CONSTANT", names).replace("VARIABLE", names)))
    });
    let hits = |(what, way): (&'static str, String)| {
        let lines: Vec<(usize, &'static str)> =
            pattern(&way).find_iter(shipped).map(|hit| (scan::line(shipped, hit.start()), what)).collect();
        lines
    };
    WAYS.iter().map(|(what, way, ..)| (*what, with_parts(way))).chain(named).flat_map(hits).collect()
}

/// The sources of the program by their paths below `src`, without files of tests.
fn sources() -> Vec<(String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![root.clone()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of src").flatten() {
            let path = entry.path();
            let name = path.strip_prefix(&root).expect("below src").to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") && !name.ends_with("tests.rs") {
                files.push((name, path));
            }
        }
    }
    files
}

#[test]
fn each_planted_comparison_is_found_and_near_misses_are_not() {
    let first_forms = WAYS.iter().chain(NAMED).map(|(what, _, planted, similar)| (*what, *planted, *similar));
    for (what, planted, similar) in first_forms.chain(OTHER_FORMS.iter().copied()) {
        let source = |line: &str| format!("fn decide() {{\n    {line}\n}}\n{PLANTED}");
        let none = BTreeSet::new();
        let of = |text: &str| found(&shipped(text), &none);
        assert!(of(&source(planted)).contains(&(2, what)), "{what}: {planted}");
        assert_eq!(of(&source(similar)), [], "{what}: {similar}");
        let in_test = format!("#[cfg(test)]\nmod tests {{\n    {planted}\n}}\n");
        assert_eq!(of(&in_test), [], "{what}: a test may compare what a reader sees");
    }
}

#[test]
fn a_sentence_of_another_file_is_found_where_it_is_compared() {
    let other = "pub(crate) const NO_POOL: &str = \"no pool has the nodes\";\nconst OWN: &str = \"a b c d\";\n";
    let shared = sentences(&shipped(other), true);
    assert_eq!(shared, BTreeSet::from(["NO_POOL".to_owned()]));
    let deciding = "notes.retain(|note| note != notes::NO_POOL);\n";
    assert_eq!(found(&shipped(deciding), &shared), [(1, "a sentence with a name that is compared")]);
    assert_eq!(found(&shipped("notes.push(notes::NO_POOL);\n"), &shared), []);
}

#[test]
fn no_source_decides_by_prose() {
    let read = |(name, path): (String, PathBuf)| {
        let text = fs::read_to_string(path).expect("a source");
        (name, shipped(&text), text)
    };
    let files: Vec<(String, String, String)> = sources().into_iter().map(read).collect();
    assert!(files.len() > 500, "{} files", files.len());
    let shared = files.iter().flat_map(|(_, shipped, _)| sentences(shipped, true)).collect();
    let (mut wrong, mut used) = (Vec::new(), BTreeSet::new());
    for (name, shipped, text) in files {
        for (line, what) in found(&shipped, &shared) {
            let written = text.lines().nth(line - 1).unwrap_or_default();
            let exempt = |(file, part, _): &(&str, &str, &str)| *file == name && written.contains(part);
            match EXEMPT.iter().position(exempt) {
                Some(at) => drop(used.insert(at)),
                None => wrong.push(format!("src/{name}:{line}: {what}: {}", written.trim())),
            }
        }
    }
    wrong.extend(
        EXEMPT.iter().enumerate().filter(|(at, _)| !used.contains(at)).map(|(_, (file, part, _))| {
            format!("src/{file}: no line with `{part}` decides by prose, but one is exempt")
        }),
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
