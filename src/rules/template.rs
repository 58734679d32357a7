//! Message templates with the names of facts in curly brackets.

use crate::rules::page_error::Fault;
use crate::rules::value::{FactLookup, FactScope};
use crate::rules::vocabulary::Vocabulary;
use crate::text::source::Span;

/// A text with the placeholders `{name}` for a fact and `{major(name)}` for the first number of a version.
#[derive(Clone, Debug)]
pub struct MessageTemplate(Vec<MessageTemplatePart>);

/// A part of a template: a literal text, a fact, or the first number of a version.
#[derive(Clone, Debug)]
enum MessageTemplatePart {
    Text(String),
    Fact(String),
    Major(String),
}

impl MessageTemplate {
    /// Parses a template; spans in errors count from the start of `text`.
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
                    .with_help("write a literal curly bracket twice: `{{`".to_owned()));
            };
            let written = &rest[1..length];
            let major = written.strip_prefix("major(").and_then(|inner| inner.strip_suffix(')'));
            let name = major.unwrap_or(written);
            if name.starts_with("component.") || vocabulary.find_entry(name).is_none() {
                let help = vocabulary.nearest_name(name).map(|near| format!("did you mean `{near}`?"));
                let span = Span::new(open + 1, open + length);
                return Err(Fault::new(span, format!("there is no fact `{name}`")).with_help(help));
            }
            parts.push(MessageTemplatePart::Text(std::mem::take(&mut plain)));
            let name = name.to_owned();
            parts.push(if major.is_some() {
                MessageTemplatePart::Major(name)
            } else {
                MessageTemplatePart::Fact(name)
            });
            at = open + length + 1;
        }
        plain.push_str(&text[at..]);
        parts.push(MessageTemplatePart::Text(plain));
        Ok(Self(parts))
    }

    /// Returns the source text of the template.
    pub fn text(&self) -> String {
        let parts = self.0.iter().map(|part| match part {
            MessageTemplatePart::Text(plain) => plain.replace('{', "{{").replace('}', "}}"),
            MessageTemplatePart::Fact(name) => format!("{{{name}}}"),
            MessageTemplatePart::Major(name) => format!("{{major({name})}}"),
        });
        parts.collect()
    }

    /// Returns the names of the facts in the template, in order.
    pub fn fact_names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            MessageTemplatePart::Fact(name) | MessageTemplatePart::Major(name) => Some(name.as_str()),
            MessageTemplatePart::Text(_) => None,
        })
    }

    /// Returns the text with every fact replaced by its value; `(none)` if absent, `(unknown)` if unknown.
    pub fn render(&self, scope: &dyn FactScope) -> String {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                MessageTemplatePart::Text(plain) => text.push_str(plain),
                MessageTemplatePart::Fact(name) => match scope.value(name) {
                    FactLookup::Known(value) => text.push_str(&value.to_string()),
                    FactLookup::Absent => text.push_str("(none)"),
                    FactLookup::Unknown => text.push_str("(unknown)"),
                },
                MessageTemplatePart::Major(name) => match scope.value(name) {
                    FactLookup::Known(value) => {
                        text.push_str(value.to_string().split('.').next().unwrap_or_default());
                    }
                    FactLookup::Absent => text.push_str("(none)"),
                    FactLookup::Unknown => text.push_str("(unknown)"),
                },
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::value::FactValue;

    /// A scope with three facts.
    struct TestScope;

    impl FactScope for TestScope {
        fn value(&self, name: &str) -> FactLookup {
            match name {
                "pool.name" => FactLookup::Known(FactValue::Text("desk".to_owned())),
                "torch.cuda" => FactLookup::Known(FactValue::Text("12.2.2.009".to_owned())),
                "torch.version" => FactLookup::Absent,
                _ => FactLookup::Unknown,
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
            let template = MessageTemplate::parse(text, &Vocabulary::built_in()).expect("well formed");
            assert_eq!(template.render(&TestScope), expected, "{text}");
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
            let fault = MessageTemplate::parse(text, &Vocabulary::built_in()).expect_err("ill formed");
            assert_eq!(&text[fault.span.start..fault.span.end], under, "{text}: {}", fault.message);
        }
    }
}
