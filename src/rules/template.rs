//! Messages with facts in curly brackets.

use crate::rules::problem::Fault;
use crate::rules::value::Lookup;
use crate::rules::value::Scope;
use crate::rules::vocabulary::Vocabulary;
use crate::source::Span;

/// A text in which `{name}` stands for a fact, `{major(name)}` for the first number of a version, `{{` and `}}` for
/// brackets.
#[derive(Clone, Debug)]
pub struct Template(Vec<Part>);

#[derive(Clone, Debug)]
enum Part {
    Text(String),
    Fact(String),
    Major(String),
}

impl Template {
    /// Reads a template; the place in a fault counts from the start of `text`.
    pub fn parse(text: &str, vocabulary: &Vocabulary) -> Result<Self, Fault> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut at = 0;
        while let Some(step) = text[at..].find(['{', '}']) {
            let open = at + step;
            plain.push_str(&text[at..open]);
            let rest = &text[open..];
            if rest.starts_with("{{") || rest.starts_with("}}") {
                plain.push_str(&rest[..1]);
                at = open + 2;
                continue;
            }
            let Some(length) = rest.find('}').filter(|_| rest.starts_with('{')) else {
                return Err(Fault::new(Span::new(open, open + 1), "a curly bracket without its counterpart")
                    .help("write a literal curly bracket twice: `{{`".to_owned()));
            };
            let written = &rest[1..length];
            let major = written.strip_prefix("major(").and_then(|inner| inner.strip_suffix(')'));
            let name = major.unwrap_or(written);
            if name.starts_with("component.") || vocabulary.find(name).is_none() {
                let help = vocabulary.nearest(name).map(|near| format!("did you mean `{near}`?"));
                let span = Span::new(open + 1, open + length);
                return Err(Fault::new(span, format!("there is no fact `{name}`")).help(help));
            }
            parts.push(Part::Text(std::mem::take(&mut plain)));
            let name = name.to_owned();
            parts.push(if major.is_some() { Part::Major(name) } else { Part::Fact(name) });
            at = open + length + 1;
        }
        plain.push_str(&text[at..]);
        parts.push(Part::Text(plain));
        Ok(Self(parts))
    }

    /// The template as it is written.
    pub fn text(&self) -> String {
        let parts = self.0.iter().map(|part| match part {
            Part::Text(plain) => plain.replace('{', "{{").replace('}', "}}"),
            Part::Fact(name) => format!("{{{name}}}"),
            Part::Major(name) => format!("{{major({name})}}"),
        });
        parts.collect()
    }

    /// Names of the facts in it, in order of appearance.
    pub fn facts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            Part::Fact(name) | Part::Major(name) => Some(name.as_str()),
            Part::Text(_) => None,
        })
    }

    /// The facts that it names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            Part::Fact(name) | Part::Major(name) => Some(name.as_str()),
            Part::Text(_) => None,
        })
    }

    /// The text with every fact in its place; absent and unknown facts print as those words.
    pub fn render(&self, scope: &dyn Scope) -> String {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                Part::Text(plain) => text.push_str(plain),
                Part::Fact(name) => match scope.value(name) {
                    Lookup::Known(value) => text.push_str(&value.to_string()),
                    Lookup::Absent => text.push_str("(none)"),
                    Lookup::Unknown => text.push_str("(unknown)"),
                },
                Part::Major(name) => match scope.value(name) {
                    Lookup::Known(value) => {
                        text.push_str(value.to_string().split('.').next().unwrap_or_default());
                    }
                    Lookup::Absent => text.push_str("(none)"),
                    Lookup::Unknown => text.push_str("(unknown)"),
                },
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::value::Value;

    struct Named;

    impl Scope for Named {
        fn value(&self, name: &str) -> Lookup {
            match name {
                "pool.name" => Lookup::Known(Value::Text("desk".to_owned())),
                "torch.cuda" => Lookup::Known(Value::Text("12.2.2.009".to_owned())),
                "torch.version" => Lookup::Absent,
                _ => Lookup::Unknown,
            }
        }
    }

    #[test]
    fn puts_facts_in_their_places() {
        for (text, expected) in [
            ("", ""),
            ("on {pool.name}.", "on desk."),
            ("CUDA {major(torch.cuda)}", "CUDA 12"),
            ("{major(torch.version)}", "(none)"),
            ("{torch.version}{pool.gpu}", "(none)(unknown)"),
            ("{{{pool.name}}}", "{desk}"),
        ] {
            let template = Template::parse(text, &Vocabulary::built_in()).expect("well formed");
            assert_eq!(template.render(&Named), expected, "{text}");
            assert_eq!(template.text(), text);
        }
    }

    #[test]
    fn refuses_names_that_are_no_facts() {
        for (text, under) in [
            ("on {pool.nam}", "pool.nam"),
            ("a {b", "{"),
            ("a } b", "}"),
            ("{}", ""),
            ("{component.name}", "component.name"),
        ] {
            let fault = Template::parse(text, &Vocabulary::built_in()).expect_err("ill formed");
            assert_eq!(&text[fault.span.start..fault.span.end], under, "{text}: {}", fault.reason);
        }
    }
}
