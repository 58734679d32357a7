//! Infers the build context of a Dockerfile: its directory, unless the copied files are in one above.

use std::path::{Component, Path, PathBuf};

use crate::dockerfile::context::normalize_path;
use crate::dockerfile::{Dockerfile, Instruction, InstructionKind, MappedText, whitespace_word_ranges};

/// Marks of a source that does not name a file in the context: variables, patterns, addresses, here-documents, parent
/// directories.
const UNRESOLVABLE_MARKS: [&str; 8] = ["$", "*", "?", "[", "://", "git@", "<", ".."];

/// Maximum number of directories above the Dockerfile in which a bare name such as `requirements.txt` is searched.
const MAX_BARE_NAME_HEIGHT: usize = 2;

/// Returns the directory above the Dockerfile, within its repository, that must be its build context; `None` if the
/// directory of the Dockerfile suffices. It contains all files that are copied by name, or some if the directory of
/// the Dockerfile contains none. If the whole context is copied, the files that commands read count.
pub(super) fn infer_build_context(dockerfile: &Path, text: &Dockerfile) -> Option<PathBuf> {
    let mut sources: Vec<String> = text.instructions.iter().flat_map(copied_paths).collect();
    if sources.is_empty() && text.instructions.iter().any(copies_whole_context) {
        sources.extend(text.instructions.iter().flat_map(files_read_by_run));
    }
    if sources.is_empty() {
        return None;
    }
    let own = dockerfile.parent()?;
    let real = if own.as_os_str().is_empty() { Path::new(".") } else { own }.canonicalize().ok()?;
    let root = real.ancestors().find(|folder| folder.join(".git").exists())?;
    let there = |folder: &Path, height: usize| {
        let inside = |source: &&String| folder.join(source).canonicalize().is_ok_and(|found| found.starts_with(root));
        sources.iter().filter(|source| height <= MAX_BARE_NAME_HEIGHT || source.contains('/')).filter(inside).count()
    };
    let own_count = there(&real, 0);
    if own_count == sources.len() {
        return None;
    }
    let mut shown = own.to_path_buf();
    let mut best: Option<(usize, PathBuf)> = None;
    for (height, folder) in real.ancestors().enumerate().skip(1).take_while(|(_, folder)| folder.starts_with(root)) {
        shown = parent_path(&shown);
        let found = there(folder, height);
        let enough = found == sources.len() || (own_count == 0 && found > 0);
        if enough && best.as_ref().is_none_or(|(most, _)| found > *most) {
            best = Some((found, shown.clone()));
        }
    }
    // Through a link a path leads up to where it stands, not to where it points.
    best.map(|(_, folder)| folder).filter(|folder| {
        let seen = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        seen.canonicalize().is_ok_and(|seen| real.starts_with(&seen) && seen.starts_with(root))
    })
}

/// Returns the note on an inferred build context.
pub(super) fn inferred_context_note(folder: &Path) -> String {
    let shown = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    format!(
        "the build context is assumed to be {}, which contains the copied files; set another with --context",
        shown.display()
    )
}

/// Returns the parent of a directory, as a path of the same form.
fn parent_path(folder: &Path) -> PathBuf {
    match folder.components().next_back() {
        Some(Component::Normal(_)) => folder.parent().unwrap_or(folder).to_path_buf(),
        Some(_) => folder.join(".."),
        None => PathBuf::from(".."),
    }
}

/// Returns the files that an instruction copies by name from the context, as paths relative to its root.
fn copied_paths(instruction: &Instruction) -> Vec<String> {
    let sources = copy_sources(instruction);
    let named = sources.iter().filter(|word| !UNRESOLVABLE_MARKS.iter().any(|mark| word.contains(mark)));
    named.map(|word| normalize_path(word.trim_matches(['"', '\'']))).filter(|path| !path.is_empty()).collect()
}

/// Returns the source arguments of a COPY or ADD that reads the build context.
fn copy_sources(instruction: &Instruction) -> Vec<&str> {
    let from_elsewhere = instruction.flag("from").is_some();
    let template = instruction.arguments.text().contains("{{");
    if !matches!(instruction.kind, InstructionKind::Copy | InstructionKind::Add) || from_elsewhere || template {
        return Vec::new();
    }
    let mut words: Vec<&str> = match &instruction.json {
        Some(words) => words.iter().map(MappedText::text).collect(),
        None => argument_words(instruction),
    };
    words.pop();
    words
}

/// Returns the arguments of an instruction, split at whitespace.
fn argument_words(instruction: &Instruction) -> Vec<&str> {
    let text = instruction.arguments.text();
    whitespace_word_ranges(text).into_iter().filter_map(|range| text.get(range)).collect()
}

/// Whether an instruction copies the whole context.
fn copies_whole_context(instruction: &Instruction) -> bool {
    copy_sources(instruction).iter().any(|source| matches!(*source, "." | "./" | "/"))
}

/// Returns the files of the context that a RUN reads: requirement files, and `pyproject.toml` for uv, PDM and Poetry.
/// None if it changes the directory or downloads files.
fn files_read_by_run(instruction: &Instruction) -> Vec<String> {
    let words = argument_words(instruction);
    if instruction.kind != InstructionKind::Run
        || words.iter().any(|word| matches!(*word, "cd" | "git" | "curl" | "wget"))
    {
        return Vec::new();
    }
    let below = |word: &str| !word.starts_with('/') && !UNRESOLVABLE_MARKS.iter().any(|mark| word.contains(mark));
    let pairs = || words.windows(2).filter_map(|pair| Some((*pair.first()?, *pair.get(1)?)));
    let lists = pairs().filter(|(option, file)| matches!(*option, "-r" | "--requirement") && below(file));
    let mut found: Vec<String> = lists.map(|(_, file)| normalize_path(file)).collect();
    if pairs().any(|pair| matches!(pair, ("uv" | "pdm", "sync") | ("poetry" | "pdm", "install"))) {
        found.push("pyproject.toml".to_owned());
    }
    found
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn copied_paths_of_line(line: &str) -> Vec<String> {
        Dockerfile::parse(&format!("FROM x\n{line}\n")).instructions.iter().flat_map(copied_paths).collect()
    }

    #[test]
    fn names_of_the_context_are_sources() {
        for (line, expected) in [
            ("COPY a b/c.txt /app/", vec!["a", "b/c.txt"]),
            ("ADD --chown=1:1 ./a /app", vec!["a"]),
            (r#"COPY ["a b", "/c/"]"#, vec!["a b"]),
            ("copy /x/a /", vec!["x/a"]),
        ] {
            assert_eq!(copied_paths_of_line(line), expected, "{line}");
        }
        for line in [
            "COPY . /app",
            "COPY ./ /app",
            "COPY --from=b /a /a",
            "COPY $A /a",
            "COPY *.txt /a",
            "COPY req[0-9].txt /a",
            "ADD https://example.com/a /a",
            "ADD git@example.com:a/b.git /a",
            "COPY <<E /a\nx\nE",
            "COPY {{ app }} /a",
            "COPY ../x/a /",
            "COPY /a",
            "RUN cp a b",
            "ONBUILD COPY a /",
        ] {
            assert_eq!(copied_paths_of_line(line), Vec::<String>::new(), "{line}");
        }
    }

    #[test]
    fn a_parent_directory_is_used_only_where_it_must_be() {
        let place = tempfile::tempdir().expect("folder");
        let root = place.path().canonicalize().expect("folder").join("repo");
        for folder in [".git", "svc/docker/deep", "svc/src", "app"] {
            fs::create_dir_all(root.join(folder)).expect("folder");
        }
        for file in [
            "r.txt",
            "svc/r.txt",
            "svc/s.txt",
            "svc/pyproject.toml",
            "svc/docker/own.txt",
            "../outside.txt",
            "svc/docker/r2.txt",
        ] {
            fs::write(root.join(file), "torch\n").expect("file");
        }
        std::os::unix::fs::symlink("../../../outside.txt", root.join("svc/leak.txt")).expect("link");
        let of = |text: &str| {
            let parsed = Dockerfile::parse(&format!("FROM x\n{text}\n"));
            let found = infer_build_context(&root.join("svc/docker/Dockerfile"), &parsed);
            found.map(|folder| folder.strip_prefix(&root).expect("below the root").display().to_string())
        };
        for (text, expected) in [
            ("COPY s.txt /a", Some("svc")),
            ("COPY r.txt /a", Some("svc")),
            ("COPY src /a", Some("svc")),
            ("COPY r.txt s.txt /a", Some("svc")),
            ("COPY r.txt app /a", Some("")),
            ("COPY svc/s.txt /a\nCOPY app /b", Some("")),
            ("COPY s.txt made.whl /a", Some("svc")),
            ("COPY docker/own.txt s.txt /a", Some("svc")),
            // The whole of it, and a command that reads a file of it.
            ("COPY . .\nRUN pip install -r s.txt", Some("svc")),
            ("COPY . /app\nRUN --mount=type=cache,target=/c uv sync --frozen", Some("svc")),
            ("COPY . .\nRUN pip install -r svc/docker/own.txt", Some("")),
            ("COPY . .\nRUN pip install -r ./docker/own.txt -c svc/s.txt", Some("svc")),
            ("COPY . .\nRUN pip install -r /svc/s.txt", None),
            ("COPY . .\nRUN pip install -r ../s.txt", None),
            ("COPY . .\nRUN pip install -r own.txt", None),
            ("COPY . .\nRUN pip install -r nowhere.txt", None),
            ("COPY . .\nRUN git clone x && cd x && pip install -r s.txt", None),
            ("COPY . .\nRUN pip install -r sub/s.txt", None),
            ("COPY . .\nRUN uv pip install torch", None),
            ("COPY --from=b . .\nRUN pip install -r s.txt", None),
            ("COPY own.txt .\nCOPY . .\nRUN pip install -r s.txt", None),
            // Next to the Dockerfile, or nowhere.
            ("COPY own.txt /a", None),
            ("COPY . /a", None),
            ("COPY made.whl /a", None),
            ("COPY own.txt made.whl /a", None),
            ("COPY own.txt r.txt /a", None),
            ("COPY outside.txt /a", None),
            ("COPY leak.txt /a", None),
            ("COPY ../../../outside.txt /a", None),
            ("RUN pip install -r s.txt", None),
        ] {
            assert_eq!(of(text).as_deref(), expected, "{text}");
        }
        // A bare name says little of a folder far above.
        let deep = |text: &str| {
            let parsed = Dockerfile::parse(&format!("FROM x\nCOPY {text} /a\n"));
            infer_build_context(&root.join("svc/docker/deep/Dockerfile"), &parsed).map(|found| found.ends_with("svc"))
        };
        fs::write(root.join("far.txt"), "torch\n").expect("file");
        for (text, expected) in [("s.txt", Some(true)), ("svc/s.txt", Some(false)), ("far.txt", None)] {
            assert_eq!(deep(text), expected, "{text}");
        }
        // Without a repository nothing says how far up a build may start.
        fs::remove_dir(root.join(".git")).expect("folder");
        assert_eq!(of("COPY s.txt /a"), None);
    }

    #[test]
    fn the_folder_above_a_path_has_its_form() {
        for (path, expected) in
            [("a/b", "a"), ("a", ""), ("", ".."), (".", "./.."), ("..", "../.."), ("../a", ".."), ("/a", "/")]
        {
            assert_eq!(parent_path(Path::new(path)), Path::new(expected), "{path}");
        }
    }
}
