//! The `WWW-Authenticate` header: which way of logging in a registry asks for.

/// A way of logging in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Challenge {
    Bearer { realm: String, service: Option<String>, scope: Option<String> },
    Basic,
}

/// The challenge to answer: Bearer before Basic, the others left aside.
pub(crate) fn choose<'a>(headers: impl Iterator<Item = &'a str>) -> Option<Challenge> {
    let mut basic = None;
    for header in headers {
        for (scheme, parameters) in split(header) {
            let value = |name: &str| {
                let found = parameters.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
                found.map(|(_, value)| value.clone())
            };
            if scheme.eq_ignore_ascii_case("bearer") {
                if let Some(realm) = value("realm") {
                    return Some(Challenge::Bearer { realm, service: value("service"), scope: value("scope") });
                }
            } else if scheme.eq_ignore_ascii_case("basic") {
                basic = Some(Challenge::Basic);
            }
        }
    }
    basic
}

type Parameters = Vec<(String, String)>;

fn split(header: &str) -> Vec<(String, Parameters)> {
    let mut found: Vec<(String, Parameters)> = Vec::new();
    let mut rest = header;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let end = rest.find([' ', '\t', ',', '=']).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        if rest.is_empty() {
            return found;
        }
        if word.is_empty() {
            // A stray sign: step over it.
            rest = rest.get(1..).unwrap_or_default();
            continue;
        }
        if let Some(value) = after.trim_start().strip_prefix('=') {
            let (value, left) = read_value(value.trim_start());
            if let Some((_, parameters)) = found.last_mut() {
                parameters.push((word.to_owned(), value));
            }
            rest = left;
        } else {
            found.push((word.to_owned(), Vec::new()));
            rest = after;
        }
    }
}

fn read_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([' ', '\t', ',']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut signs = quoted.char_indices();
    while let Some((at, sign)) = signs.next() {
        match sign {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(signs.next().map(|(_, sign)| sign)),
            _ => value.push(sign),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bearer_is_found_among_others_with_commas_in_its_scope() {
        let header =
            r#"Basic realm="x, y", Bearer realm="https://a/token",service="s", scope="repository:a/b:pull,push""#;
        let expected = Challenge::Bearer {
            realm: "https://a/token".into(),
            service: Some("s".into()),
            scope: Some("repository:a/b:pull,push".into()),
        };
        assert_eq!(choose([header].into_iter()), Some(expected));
        assert_eq!(choose(["basic"].into_iter()), Some(Challenge::Basic));
        for odd in ["", "=,=", "Bearer", "Negotiate", "Bearer realm", r#"Bearer x="unclosed"#, "é=ü"] {
            assert_eq!(choose([odd].into_iter()), None, "{odd}");
        }
    }
}
