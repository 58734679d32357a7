//! Variables whose values extend the environment of the base image, such as `/opt/x:$LD_LIBRARY_PATH`.

use std::collections::BTreeMap;

use crate::dockerfile::{BASE_MARK, BaseEnvAssumption, Dockerfile, EvaluateOptions, EvaluatedTarget};
use crate::model::fact::{EnvTemplate, TemplatePart};

/// Returns templates for the variables whose final value cannot be determined from the Dockerfile itself.
pub(super) fn find_env_templates(
    dockerfile: &Dockerfile,
    options: &EvaluateOptions,
    evaluated: &EvaluatedTarget,
) -> BTreeMap<String, EnvTemplate> {
    let open = |name: &str| evaluated.env(name).is_some_and(|set| set.value.known_text().is_none());
    if !evaluated.env.iter().any(|set| open(&set.name)) {
        return BTreeMap::new();
    }
    let evaluate = |base_env| dockerfile.evaluate(&EvaluateOptions { base_env, ..options.clone() }).ok();
    let (Some(marked), Some(empty)) = (evaluate(BaseEnvAssumption::Named), evaluate(BaseEnvAssumption::Empty)) else {
        return BTreeMap::new();
    };
    let value =
        |of: &EvaluatedTarget, name: &str| of.env(name).and_then(|set| set.value.known_text().map(str::to_owned));
    let names = evaluated.env.iter().map(|set| set.name.as_str()).filter(|name| open(name));
    names
        .filter_map(|name| Some((name.to_owned(), build_template(&value(&marked, name)?, value(&empty, name)?)?)))
        .collect()
}

/// Builds a template from a value with marked variables of the base image and the same value without them.
fn build_template(named: &str, unset: String) -> Option<EnvTemplate> {
    let mut set = Vec::new();
    for (at, part) in named.split(BASE_MARK).enumerate() {
        if at % 2 == 1 {
            set.push(TemplatePart::Variable(part.to_owned()));
        } else if !part.is_empty() {
            set.push(TemplatePart::Text(part.to_owned()));
        }
    }
    let template = EnvTemplate { set, unset: Some(unset) };
    if template.expand(|_| Some(String::new())) == template.unset {
        return Some(EnvTemplate { unset: None, ..template });
    }
    // Forms that test whether a variable is set are distinguishable only for a single variable.
    (template.variables().len() == 1).then_some(template)
}

/// Formats template parts as text: variables as `${NAME}`, dollar signs doubled.
pub(super) fn format_parts(parts: &[TemplatePart]) -> String {
    let written = parts.iter().map(|part| match part {
        TemplatePart::Text(text) => text.replace('$', "$$"),
        TemplatePart::Variable(name) => format!("${{{name}}}"),
    });
    written.collect()
}

/// Parses template parts from their text form.
pub(super) fn parse_parts(text: &str) -> Vec<TemplatePart> {
    let mut parts = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('$') {
        plain.push_str(before);
        if let Some(behind) = behind.strip_prefix('$') {
            plain.push('$');
            rest = behind;
            continue;
        }
        let braced = behind.strip_prefix('{').and_then(|behind| behind.split_once('}'));
        let (name, behind) = braced.unwrap_or_else(|| {
            let end = behind.find(|sign: char| !sign.is_alphanumeric() && sign != '_').unwrap_or(behind.len());
            behind.split_at(end)
        });
        if name.is_empty() {
            plain.push('$');
        } else {
            if !plain.is_empty() {
                parts.push(TemplatePart::Text(std::mem::take(&mut plain)));
            }
            parts.push(TemplatePart::Variable(name.to_owned()));
        }
        rest = behind;
    }
    plain.push_str(rest);
    if !plain.is_empty() {
        parts.push(TemplatePart::Text(plain));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the template of the variable `X`, and its value without base variables.
    fn template_of_x(env: &str) -> Option<(String, Option<String>)> {
        let dockerfile =
            Dockerfile::parse(&format!("FROM registry.example/cuda:12.4.1\nARG GIVEN=g\nARG OPEN\n{env}\n"));
        let options = EvaluateOptions::new(crate::knowledge::Knowledge::built_in());
        let evaluated = dockerfile.evaluate(&options).expect("a stage");
        let mut found = find_env_templates(&dockerfile, &options, &evaluated);
        found.remove("X").map(|template| (format_parts(&template.set), template.unset))
    }

    #[test]
    fn values_keep_what_they_take_from_the_base() {
        for (env, set, unset) in [
            ("ENV X=/opt/x:$LD_LIBRARY_PATH", "/opt/x:${LD_LIBRARY_PATH}", None),
            ("ENV X /opt/$GIVEN:${LD_LIBRARY_PATH}", "/opt/g:${LD_LIBRARY_PATH}", None),
            ("ENV A=$P\nENV X=$A:/b", "${P}:/b", None),
            ("ENV X=/a:$X\nENV X=/b:$X", "/b:/a:${X}", None),
            ("ENV X=$P:$Q", "${P}:${Q}", None),
            ("ENV X=\\$5:$P", "$$5:${P}", None),
            ("ENV X=/a${P:+:$P}", "/a:${P}", Some("/a")),
            ("ENV X=${P:-/none}", "${P}", Some("/none")),
        ] {
            assert_eq!(template_of_x(env), Some((set.to_owned(), unset.map(str::to_owned))), "{env}");
        }
    }

    #[test]
    fn value_with_a_modifier_or_two_variables_has_no_template() {
        for env in [
            "ENV X=/plain",
            "ENV X=$OPEN:$P",
            "ENV X=${P#/usr}",
            "ENV A=/a:$P\nENV X=${A%:*}",
            "ENV X=${P:+a}${Q:+b}",
            "ENV X={{ p }}:$P",
            "ENV X=$P\nENV X=/plain",
            "ENV Y=$P",
        ] {
            assert_eq!(template_of_x(env), None, "{env}");
        }
    }

    #[test]
    fn the_text_of_a_template_reads_back() {
        for text in ["/opt/x:${LD_LIBRARY_PATH}", "${A}${B}", "$$5:${P}", "plain", ""] {
            assert_eq!(format_parts(&parse_parts(text)), text);
        }
        assert_eq!(format_parts(&parse_parts("/a:$P/b")), "/a:${P}/b");
        assert_eq!(format_parts(&parse_parts("5$ ")), "5$$ ");
    }
}
