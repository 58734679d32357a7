//! Lookup of build stages by name, number or instruction.

use std::collections::BTreeMap;

use crate::dockerfile::{Dockerfile, MappedText, Stage};

/// The stage numbers for each lower-case stage name, which may be defined more than once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StageNames(BTreeMap<String, Vec<usize>>);

impl StageNames {
    /// Collects the names of stages that are in file order.
    pub(super) fn from_stages(stages: &[Stage]) -> Self {
        let mut names: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for stage in stages {
            if let Some(name) = &stage.name {
                names.entry(name.to_ascii_lowercase()).or_default().push(stage.index);
            }
        }
        Self(names)
    }

    /// Returns the last stage with a name that precedes another stage.
    fn last_before(&self, name: &str, before: usize) -> Option<usize> {
        let numbers = self.0.get(&name.to_ascii_lowercase())?;
        numbers.get(numbers.partition_point(|number| *number < before).checked_sub(1)?).copied()
    }
}

impl Dockerfile {
    /// Returns the number of the stage with a name in any case, or with a number.
    pub fn find_stage(&self, name: &str) -> Option<usize> {
        self.find_stage_before(name, self.stages.len())
    }

    /// Returns the number of the stage with a name or number before another stage, as COPY can refer to it.
    pub fn find_stage_before(&self, name: &str, before: usize) -> Option<usize> {
        let number = || name.parse().ok().filter(|index| *index < before);
        self.names.last_before(name, before).or_else(number)
    }

    /// Returns the number of the stage that the FROM of a later stage names.
    pub(super) fn find_parent_stage(&self, name: &str, before: usize) -> Option<usize> {
        self.names.last_before(name, before)
    }

    /// Returns the stage that contains an instruction; `None` before the first FROM.
    pub fn stage_of_instruction(&self, instruction: usize) -> Option<&Stage> {
        let at = self.stages.partition_point(|stage| stage.from <= instruction).checked_sub(1)?;
        self.stages.get(at)
    }

    /// Returns the stages that no other stage builds on or copies from; names with variables are not followed.
    pub fn leaf_stages(&self) -> Vec<usize> {
        let mut used = vec![false; self.stages.len()];
        for stage in &self.stages {
            let mut earlier: Vec<usize> = self.find_parent_stage(stage.base.text(), stage.index).into_iter().collect();
            let instructions = stage.instructions.iter().filter_map(|at| self.instructions.get(*at));
            for flag in instructions.flat_map(|instruction| &instruction.flags) {
                let value = flag.value.as_ref().map_or("", MappedText::text);
                let from = |name: &str| self.find_stage_before(name, stage.index);
                match flag.name.as_str() {
                    "from" => earlier.extend(from(value)),
                    "mount" => {
                        let names = value.split(',').filter_map(|part| part.strip_prefix("from="));
                        earlier.extend(names.filter_map(from));
                    }
                    _ => {}
                }
            }
            for earlier in earlier {
                if let Some(used) = used.get_mut(earlier) {
                    *used = true;
                }
            }
        }
        (0..self.stages.len()).filter(|at| used.get(*at) == Some(&false)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dockerfile::EvaluateOptions;

    #[test]
    fn a_name_is_the_last_one_in_front_of_the_place() {
        let file = Dockerfile::parse("FROM a AS x\nFROM x AS X\nFROM b\nCOPY --from=x /a /\nFROM c AS x\n");
        assert_eq!(
            [0, 1, 2, 3, 4].map(|before| file.find_stage_before("x", before)),
            [None, Some(0), Some(1), Some(1), Some(3)]
        );
        assert_eq!(
            (file.find_stage("x"), file.find_stage("2"), file.find_stage("4"), file.find_stage("y")),
            (Some(3), Some(2), None, None)
        );
        assert_eq!(file.leaf_stages(), [2, 3], "the first x is built on, the second copied from");
        let evaluated = file.evaluate(&EvaluateOptions {
            target: Some("2".to_owned()),
            ..EvaluateOptions::new(crate::knowledge::Knowledge::built_in())
        });
        assert_eq!(evaluated.expect("a stage").copies[0].from_stage, Some(1));
    }

    #[test]
    fn a_number_is_no_base_and_nothing_follows_itself() {
        let file = Dockerfile::parse("FROM a\nFROM 0\nFROM self AS self\n");
        assert_eq!(file.leaf_stages(), [0, 1, 2]);
        let chain = |target: &str| {
            let options = EvaluateOptions {
                target: Some(target.to_owned()),
                ..EvaluateOptions::new(crate::knowledge::Knowledge::built_in())
            };
            file.evaluate(&options).expect("a stage").chain
        };
        assert_eq!((chain("1"), chain("self")), (vec![1], vec![2]));
    }
}
