//! What a container is started with, in place of what its image says.

use std::collections::BTreeMap;

use serde_json::Value;

/// The words of a program or of its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Words {
    /// As the image says.
    #[default]
    OfImage,
    /// These.
    Told(Vec<String>),
    /// Words that stand elsewhere.
    Elsewhere,
}

/// What a container is started with.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Command {
    /// In place of the image's entrypoint.
    pub entrypoint: Words,
    /// In place of the image's command.
    pub arguments: Words,
    /// The folder in which it starts.
    pub folder: Option<String>,
}

impl Command {
    /// Whether the words are those of the image.
    pub fn is_of_image(&self) -> bool {
        self.entrypoint == Words::OfImage && self.arguments == Words::OfImage
    }

    /// Entrypoint and command over those of an image, whose command belongs to its own entrypoint; none where some of
    /// the words are not known.
    pub fn over(&self, entrypoint: &[String], command: &[String]) -> Option<(Vec<String>, Vec<String>)> {
        let replaced = self.entrypoint != Words::OfImage;
        let words = |own: &Words, of_image: &[String]| match own {
            Words::OfImage => Some(of_image.to_vec()),
            Words::Told(words) => Some(words.clone()),
            Words::Elsewhere => None,
        };
        let arguments = words(&self.arguments, if replaced { &[] } else { command })?;
        Some((words(&self.entrypoint, entrypoint)?, arguments))
    }
}

/// What a container of a pod says. An empty list says nothing there, and `$(NAME)` is a variable of the container.
pub(super) fn of_pod(container: &Value, env: &BTreeMap<String, Option<String>>, env_from: bool) -> Command {
    let words = |name: &str| {
        let list = container.get(name).and_then(Value::as_array).filter(|list| !list.is_empty());
        let Some(list) = list else { return Words::OfImage };
        let mut words: Vec<String> = Vec::new();
        for word in list.iter().filter_map(Value::as_str) {
            let (word, known) = filled(word, env, env_from);
            // An argument may stay open: what is run hangs on the program, and on the line that a shell is given.
            let runs = words.last().is_none_or(|last| last.starts_with('-') && last.ends_with('c'));
            if !known && runs {
                return Words::Elsewhere;
            }
            words.push(word);
        }
        Words::Told(words)
    };
    let folder = container.get("workingDir").and_then(Value::as_str).map(str::to_owned);
    Command { entrypoint: words("command"), arguments: words("args"), folder }
}

/// A value with the variables filled in that stand before it; none where one of them is not known.
pub(super) fn expanded(value: &str, env: &BTreeMap<String, Option<String>>) -> Option<String> {
    let (value, known) = filled(value, env, true);
    known.then_some(value)
}

/// A word with the variables filled in that are known, and whether all of them are. A variable that nobody sets stays as
/// it is written, and `$$(NAME)` is no variable.
fn filled(word: &str, env: &BTreeMap<String, Option<String>>, env_from: bool) -> (String, bool) {
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
            told => {
                known &= told.is_none() && !env_from;
                out.extend(["$(", name, ")"]);
            }
        }
        rest = behind;
    }
    out.push_str(rest);
    (out, known)
}

/// What a service says: a list of words or a line of them; an empty one takes away what the image says.
pub(super) fn of_service(service: &Value, plain: impl Fn(&str) -> Option<String>) -> Command {
    let words = |name: &str| {
        let told = match service.get(name) {
            Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).map(&plain).collect(),
            Some(Value::String(line)) => plain(line).and_then(|line| split(&line)),
            _ => return Words::OfImage,
        };
        told.map_or(Words::Elsewhere, Words::Told)
    };
    let folder = service.get("working_dir").and_then(Value::as_str).and_then(&plain);
    Command { entrypoint: words("entrypoint"), arguments: words("command"), folder }
}

/// The words of a line as a shell parts them, which alone it is asked for; none where a quote is open.
fn split(line: &str) -> Option<Vec<String>> {
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

    fn told(words: &[&str]) -> Words {
        Words::Told(words.iter().map(|word| (*word).to_owned()).collect())
    }

    #[test]
    fn words_of_a_pod_take_the_place_of_those_of_the_image() {
        let env = BTreeMap::from([("A".to_owned(), Some("x y".to_owned())), ("B".to_owned(), None)]);
        let of = |value: &Value| of_pod(value, &env, false);
        assert!(of(&json!({"command": [], "args": null})).is_of_image(), "an empty list says nothing");
        let own =
            of(&json!({"command": ["python3", "$(A)", "$(B)", "$$(A)", "$(C)", "$A", "$("], "workingDir": "/app"}));
        assert_eq!(own.entrypoint, told(&["python3", "x y", "$(B)", "$(A)", "$(C)", "$A", "$("]));
        assert_eq!((own.arguments.clone(), own.folder.as_deref()), (Words::OfImage, Some("/app")));
        assert_eq!(of(&json!({"command": ["$(B)"]})).entrypoint, Words::Elsewhere);
        assert_eq!(of(&json!({"command": ["sh"], "args": ["-c", "exec $(B)"]})).arguments, Words::Elsewhere);
        assert_eq!(of(&json!({"args": ["$(C)"]})).arguments, told(&["$(C)"]));
        assert_eq!(of_pod(&json!({"args": ["$(C)"]}), &env, true).arguments, Words::Elsewhere);
    }

    #[test]
    fn an_entrypoint_that_is_replaced_takes_the_command_of_the_image_with_it() {
        let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let image = (list(&["/entry"]), list(&["serve"]));
        let over = |entrypoint: Words, arguments: Words| {
            Command { entrypoint, arguments, folder: None }.over(&image.0, &image.1)
        };
        assert_eq!(over(Words::OfImage, Words::OfImage), Some(image.clone()));
        assert_eq!(over(told(&["bash"]), Words::OfImage), Some((list(&["bash"]), Vec::new())));
        assert_eq!(over(Words::OfImage, told(&["fit"])), Some((list(&["/entry"]), list(&["fit"]))));
        assert_eq!(over(told(&[]), told(&["fit"])), Some((Vec::new(), list(&["fit"]))));
        assert_eq!(over(Words::OfImage, Words::Elsewhere), None);
        assert_eq!(over(Words::Elsewhere, Words::OfImage), None);
    }

    #[test]
    fn words_of_a_service_are_a_list_or_a_line() {
        let plain = |text: &str| (!text.contains('$')).then(|| text.to_owned());
        let of = |value: &Value| of_service(value, plain);
        assert!(of(&json!({"entrypoint": null, "image": "a"})).is_of_image());
        let own = of(&json!({"entrypoint": "", "command": "python -m 'a b' \"c\\\"d\" e\\ f ''", "working_dir": "/w"}));
        assert_eq!(own.entrypoint, told(&[]));
        assert_eq!(own.arguments, told(&["python", "-m", "a b", "c\"d", "e f", ""]));
        assert_eq!(own.folder.as_deref(), Some("/w"));
        assert_eq!(of(&json!({"command": ["a", "b c"]})).arguments, told(&["a", "b c"]));
        for open in [json!("${A} b"), json!("'a"), json!(["a", "$B"])] {
            assert_eq!(of(&json!({ "command": open })).arguments, Words::Elsewhere, "{open}");
        }
    }
}
