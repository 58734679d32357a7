//! Elements of XML, for what our reports write; anything not well-formed is a panic.

/// An element as it is opened, with its attributes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Element {
    /// Name.
    pub(crate) name: String,
    /// Attributes in their order.
    pub(crate) attributes: Vec<(String, String)>,
    /// The text before the first child.
    pub(crate) text: String,
}

impl Element {
    /// An attribute.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.attributes.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }
}

/// All elements in their order.
pub(crate) fn elements(text: &str) -> Vec<Element> {
    let legal = |c: char| matches!(c, '\n' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    assert!(text.chars().all(legal), "a character that XML cannot hold");
    let text = text.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n").expect("a declaration");
    let (mut found, mut open) = (Vec::<Element>::new(), Vec::<String>::new());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let between = read(&rest[..at]);
        if let Some(last) = found.last_mut().filter(|last| last.text.is_empty()) {
            between.trim().clone_into(&mut last.text);
        }
        let end = rest.find('>').expect("an end");
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "closed in order");
            continue;
        }
        let (tag, alone) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, mut fields) = tag.split_once(' ').unwrap_or((tag, ""));
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{name}");
        let mut attributes = Vec::new();
        while let Some((key, more)) = fields.trim_start().split_once("=\"") {
            let (value, more) = more.split_once('"').expect("a quote");
            attributes.push((key.to_owned(), read(value)));
            fields = more;
        }
        assert_eq!(fields.trim(), "", "{tag}");
        found.push(Element { name: name.to_owned(), attributes, text: String::new() });
        if !alone {
            open.push(name.to_owned());
        }
    }
    assert!(open.is_empty() && rest.trim().is_empty(), "{open:?} {rest}");
    found
}

/// The text that escapes stand for.
fn read(text: &str) -> String {
    assert!(!text.contains(['<', '>']), "{text}");
    let mut parts = text.split('&');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once(';').expect("an escape");
        out.push(match name {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "#39" => '\'',
            "#10" => '\n',
            other => panic!("{other} is no escape"),
        });
        out.push_str(rest);
    }
    out
}
