//! The `WWW-Authenticate` header: the authentication method that a registry requires.

/// An authentication method that a registry requires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AuthChallenge {
    Bearer { realm: String, service: Option<String>, scope: Option<String> },
    Basic,
}

/// Selects the challenge to answer: Bearer before Basic; other schemes are ignored.
pub(crate) fn select_challenge<'a>(headers: impl Iterator<Item = &'a str>) -> Option<AuthChallenge> {
    let mut basic = None;
    for header in headers {
        for (scheme, parameters) in split_challenges(header) {
            let value = |name: &str| {
                let found = parameters.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
                found.map(|(_, value)| value.clone())
            };
            if scheme.eq_ignore_ascii_case("bearer") {
                if let Some(realm) = value("realm") {
                    return Some(AuthChallenge::Bearer { realm, service: value("service"), scope: value("scope") });
                }
            } else if scheme.eq_ignore_ascii_case("basic") {
                basic = Some(AuthChallenge::Basic);
            }
        }
    }
    basic
}

/// The parameters of one challenge, as names and values.
type ChallengeParameters = Vec<(String, String)>;

/// Splits a `WWW-Authenticate` header into its schemes with their parameters.
fn split_challenges(header: &str) -> Vec<(String, ChallengeParameters)> {
    let mut found: Vec<(String, ChallengeParameters)> = Vec::new();
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
            let (value, left) = parse_parameter_value(value.trim_start());
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

/// Parses a plain or quoted parameter value; returns it and the rest of the text.
fn parse_parameter_value(text: &str) -> (String, &str) {
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
        let expected = AuthChallenge::Bearer {
            realm: "https://a/token".into(),
            service: Some("s".into()),
            scope: Some("repository:a/b:pull,push".into()),
        };
        assert_eq!(select_challenge([header].into_iter()), Some(expected));
        assert_eq!(select_challenge(["basic"].into_iter()), Some(AuthChallenge::Basic));
        for odd in ["", "=,=", "Bearer", "Negotiate", "Bearer realm", r#"Bearer x="unclosed"#, "é=ü"] {
            assert_eq!(select_challenge([odd].into_iter()), None, "{odd}");
        }
    }
}
