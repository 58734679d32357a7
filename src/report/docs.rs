//! Addresses of the documentation.

use crate::rules::RuleBook;

/// Address of the published documentation; every link to a page begins with it.
///
/// The documentation is not published yet: `.example` is reserved, so the address belongs to nobody.
pub const DOCS_URL: &str = "https://imagelint.example";

/// The address of a rule's page; none of a rule that is not built in.
pub fn page(rule: &str) -> Option<String> {
    RuleBook::built_in().get(rule).map(|page| format!("{DOCS_URL}/rules/{}.html", page.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_built_in_rules_have_a_page() {
        assert_eq!(page("no-kernel-image"), Some(format!("{DOCS_URL}/rules/no-kernel-image.html")));
        assert_eq!(page("own-rule"), None);
    }
}
