//! The command that a container is started with, instead of that of its image.

use std::collections::BTreeMap;

use serde_json::Value;

/// The entrypoint or the arguments of a container: those of the image, or an override.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ArgumentOverride {
    /// Those of the image.
    #[default]
    OfImage,
    /// An override by this list.
    Explicit(Vec<String>),
    /// An override whose value is not in the file.
    Unknown,
}

/// The command that a container is started with.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ContainerCommand {
    /// Replaces the entrypoint of the image.
    pub entrypoint: ArgumentOverride,
    /// Replaces the CMD of the image.
    pub arguments: ArgumentOverride,
    /// The working directory.
    pub folder: Option<String>,
}

impl ContainerCommand {
    /// Whether entrypoint and arguments are those of the image.
    pub fn is_image_default(&self) -> bool {
        self.entrypoint == ArgumentOverride::OfImage && self.arguments == ArgumentOverride::OfImage
    }

    /// Returns the entrypoint and CMD that the container runs: replacing the entrypoint discards the image's CMD.
    /// `None` if partly unknown.
    pub fn resolve(&self, entrypoint: &[String], command: &[String]) -> Option<(Vec<String>, Vec<String>)> {
        let replaced = self.entrypoint != ArgumentOverride::OfImage;
        let words = |own: &ArgumentOverride, of_image: &[String]| match own {
            ArgumentOverride::OfImage => Some(of_image.to_vec()),
            ArgumentOverride::Explicit(words) => Some(words.clone()),
            ArgumentOverride::Unknown => None,
        };
        let arguments = words(&self.arguments, if replaced { &[] } else { command })?;
        Some((words(&self.entrypoint, entrypoint)?, arguments))
    }
}

/// Returns the command of a pod's container, with `$(NAME)` expanded; an empty list overrides nothing.
pub(super) fn read_pod_command(
    container: &Value,
    env: &BTreeMap<String, Option<String>>,
    env_from: bool,
) -> ContainerCommand {
    let words = |name: &str| {
        let list = container.get(name).and_then(Value::as_array).filter(|list| !list.is_empty());
        let Some(list) = list else { return ArgumentOverride::OfImage };
        let mut words: Vec<String> = Vec::new();
        for word in list.iter().filter_map(Value::as_str) {
            let (word, known) = substitute_variables(word, env, env_from);
            // An argument may be unknown, but not the program or the line that a shell runs.
            let runs = words.last().is_none_or(|last| last.starts_with('-') && last.ends_with('c'));
            if !known && runs {
                return ArgumentOverride::Unknown;
            }
            words.push(word);
        }
        ArgumentOverride::Explicit(words)
    };
    let folder = container.get("workingDir").and_then(Value::as_str).map(str::to_owned);
    ContainerCommand { entrypoint: words("command"), arguments: words("args"), folder }
}

/// Returns a value with its `$(NAME)` variables expanded; `None` if one of them is unknown.
pub(super) fn expand_variables(value: &str, env: &BTreeMap<String, Option<String>>) -> Option<String> {
    let (value, known) = substitute_variables(value, env, true);
    known.then_some(value)
}

/// Returns a text with its known `$(NAME)` variables expanded, and whether all are known; undefined variables and
/// `$$(NAME)` stay.
fn substitute_variables(word: &str, env: &BTreeMap<String, Option<String>>, env_from: bool) -> (String, bool) {
    let (mut out, mut known, mut rest) = (String::new(), true, word);
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(behind) = rest.strip_prefix('$') {
            out.push('$');
            rest = behind;
            continue;
        }
        let Some((name, behind)) = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) else {
            out.push('$');
            continue;
        };
        match env.get(name) {
            Some(Some(value)) => out.push_str(value),
            unresolved => {
                known &= unresolved.is_none() && !env_from;
                out.extend(["$(", name, ")"]);
            }
        }
        rest = behind;
    }
    out.push_str(rest);
    (out, known)
}

/// Returns the command of a Compose service: lists or lines; an empty one removes that of the image.
pub(super) fn read_service_command(service: &Value, plain: impl Fn(&str) -> Option<String>) -> ContainerCommand {
    let words = |name: &str| {
        let parsed_words = match service.get(name) {
            Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).map(&plain).collect(),
            Some(Value::String(line)) => plain(line).and_then(|line| split_shell_words(&line)),
            _ => return ArgumentOverride::OfImage,
        };
        parsed_words.map_or(ArgumentOverride::Unknown, ArgumentOverride::Explicit)
    };
    let folder = service.get("working_dir").and_then(Value::as_str).and_then(&plain);
    ContainerCommand { entrypoint: words("entrypoint"), arguments: words("command"), folder }
}

/// Splits a line into words as a shell does; `None` if a quote is not closed.
fn split_shell_words(line: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut signs = line.chars();
    while let Some(sign) = signs.next() {
        match (quote, sign) {
            (None, ' ' | '\t' | '\n' | '\r') => words.extend(word.take()),
            (None, '\'' | '"') => {
                quote = Some(sign);
                word.get_or_insert_default();
            }
            (Some(open), _) if open == sign => quote = None,
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(signs.next()),
            _ => word.get_or_insert_default().push(sign),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns an override by a list.
    fn explicit(words: &[&str]) -> ArgumentOverride {
        ArgumentOverride::Explicit(words.iter().map(|word| (*word).to_owned()).collect())
    }

    #[test]
    fn words_of_a_pod_take_the_place_of_those_of_the_image() {
        let env = BTreeMap::from([("A".to_owned(), Some("x y".to_owned())), ("B".to_owned(), None)]);
        let of = |value: &Value| read_pod_command(value, &env, false);
        assert!(of(&json!({"command": [], "args": null})).is_image_default(), "an empty list says nothing");
        let own =
            of(&json!({"command": ["python3", "$(A)", "$(B)", "$$(A)", "$(C)", "$A", "$("], "workingDir": "/app"}));
        assert_eq!(own.entrypoint, explicit(&["python3", "x y", "$(B)", "$(A)", "$(C)", "$A", "$("]));
        assert_eq!((own.arguments.clone(), own.folder.as_deref()), (ArgumentOverride::OfImage, Some("/app")));
        assert_eq!(of(&json!({"command": ["$(B)"]})).entrypoint, ArgumentOverride::Unknown);
        assert_eq!(of(&json!({"command": ["sh"], "args": ["-c", "exec $(B)"]})).arguments, ArgumentOverride::Unknown);
        assert_eq!(of(&json!({"args": ["$(C)"]})).arguments, explicit(&["$(C)"]));
        assert_eq!(read_pod_command(&json!({"args": ["$(C)"]}), &env, true).arguments, ArgumentOverride::Unknown);
    }

    #[test]
    fn an_entrypoint_that_is_replaced_takes_the_command_of_the_image_with_it() {
        let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let image = (list(&["/entry"]), list(&["serve"]));
        let over = |entrypoint: ArgumentOverride, arguments: ArgumentOverride| {
            ContainerCommand { entrypoint, arguments, folder: None }.resolve(&image.0, &image.1)
        };
        assert_eq!(over(ArgumentOverride::OfImage, ArgumentOverride::OfImage), Some(image.clone()));
        assert_eq!(over(explicit(&["bash"]), ArgumentOverride::OfImage), Some((list(&["bash"]), Vec::new())));
        assert_eq!(over(ArgumentOverride::OfImage, explicit(&["fit"])), Some((list(&["/entry"]), list(&["fit"]))));
        assert_eq!(over(explicit(&[]), explicit(&["fit"])), Some((Vec::new(), list(&["fit"]))));
        assert_eq!(over(ArgumentOverride::OfImage, ArgumentOverride::Unknown), None);
        assert_eq!(over(ArgumentOverride::Unknown, ArgumentOverride::OfImage), None);
    }

    #[test]
    fn words_of_a_service_are_a_list_or_a_line() {
        let plain = |text: &str| (!text.contains('$')).then(|| text.to_owned());
        let of = |value: &Value| read_service_command(value, plain);
        assert!(of(&json!({"entrypoint": null, "image": "a"})).is_image_default());
        let own = of(&json!({"entrypoint": "", "command": "python -m 'a b' \"c\\\"d\" e\\ f ''", "working_dir": "/w"}));
        assert_eq!(own.entrypoint, explicit(&[]));
        assert_eq!(own.arguments, explicit(&["python", "-m", "a b", "c\"d", "e f", ""]));
        assert_eq!(own.folder.as_deref(), Some("/w"));
        assert_eq!(of(&json!({"command": ["a", "b c"]})).arguments, explicit(&["a", "b c"]));
        for open in [json!("${A} b"), json!("'a"), json!(["a", "$B"])] {
            assert_eq!(of(&json!({ "command": open })).arguments, ArgumentOverride::Unknown, "{open}");
        }
    }
}
