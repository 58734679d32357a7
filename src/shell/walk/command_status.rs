//! Three-valued logic for command execution, and the status of a command.

/// A three-valued answer: yes, no or maybe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tristate {
    Yes,
    No,
    Maybe,
}

impl Tristate {
    /// Returns the conjunction.
    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::No, _) | (_, Self::No) => Self::No,
            (Self::Yes, Self::Yes) => Self::Yes,
            _ => Self::Maybe,
        }
    }

    /// Returns the disjunction.
    pub(super) fn or(self, other: Self) -> Self {
        self.not().and(other.not()).not()
    }

    /// Returns the negation; `Maybe` stays.
    pub(super) fn not(self) -> Self {
        match self {
            Self::Yes => Self::No,
            Self::No => Self::Yes,
            Self::Maybe => Self::Maybe,
        }
    }
}

/// The result of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum CommandStatus {
    /// Success, which a build requires of its commands.
    #[default]
    Fine,
    /// The command is a test with this result.
    Answer(Tristate),
}

impl CommandStatus {
    /// Returns whether a condition with this status holds; unknown unless the command is a test.
    pub(super) fn as_condition(self) -> Tristate {
        match self {
            Self::Fine => Tristate::Maybe,
            Self::Answer(chance) => chance,
        }
    }
}
