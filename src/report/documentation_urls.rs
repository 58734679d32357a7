//! URLs of the documentation.

use crate::rules::RuleBook;

/// Base URL of the published documentation, which is `homepage` in `Cargo.toml`; every link to a page begins with it.
pub const DOCS_URL: &str = env!("CARGO_PKG_HOMEPAGE");

/// Returns the URL of a rule's page; `None` for a rule that is not built in.
pub fn rule_page_url(rule: &str) -> Option<String> {
    RuleBook::built_in().get(rule).map(|page| format!("{DOCS_URL}/rules/{}.html", page.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_built_in_rules_have_a_page() {
        assert_eq!(rule_page_url("no-kernel-image"), Some(format!("{DOCS_URL}/rules/no-kernel-image.html")));
        assert_eq!(rule_page_url("own-rule"), None);
    }
}
