//! Whether commands run and succeed: three-valued statuses, and lists of commands with `&&` and `||`.

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
            Self::Answer(answer) => answer,
        }
    }
}

/// The operator between the current command and the previous one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ListOperator {
    #[default]
    First,
    And,
    Or,
}

/// The state of a command list up to the current command.
#[derive(Clone, Copy, Debug)]
pub(super) struct AndOrList {
    /// Whether the current command runs, as far as the list decides.
    pub(super) gate: Tristate,
    /// The status of the list so far.
    pub(super) status: CommandStatus,
    /// Whether `!` precedes the current command.
    pub(super) negated: bool,
    join: ListOperator,
}

impl Default for AndOrList {
    fn default() -> Self {
        Self { gate: Tristate::Yes, status: CommandStatus::Fine, negated: false, join: ListOperator::First }
    }
}

impl AndOrList {
    /// Whether nothing precedes the current command.
    pub(super) fn is_first(self) -> bool {
        self.join == ListOperator::First && !self.negated
    }

    /// Whether the current command only runs if the previous one failed.
    pub(super) fn is_after_failure(self) -> bool {
        self.join == ListOperator::Or
    }

    /// Whether the current command only runs if the previous one succeeded, which the build does not require.
    pub(super) fn is_after_success(self) -> bool {
        self.join == ListOperator::And && self.status == CommandStatus::Fine
    }

    /// Ends the list; its status stays.
    pub(super) fn end(&mut self) {
        *self = Self { status: self.status, ..Self::default() };
    }

    /// Continues behind `&&`; `sure` means that the build fails unless the list succeeds.
    pub(super) fn continue_with_and(&mut self, sure: bool) {
        self.join = ListOperator::And;
        self.gate = match self.status {
            CommandStatus::Answer(Tristate::Maybe) if sure => Tristate::Yes,
            CommandStatus::Answer(answer) => answer,
            CommandStatus::Fine => Tristate::Yes,
        };
    }

    /// Continues behind `||`.
    pub(super) fn continue_with_or(&mut self) {
        self.join = ListOperator::Or;
        self.gate = self.status.as_condition().not();
    }

    /// Marks the rest of the list as unknown.
    pub(super) fn mark_unknown(&mut self) {
        *self = Self { gate: Tristate::Maybe, status: CommandStatus::Answer(Tristate::Maybe), ..Self::default() };
    }

    /// Records the status of the current command.
    pub(super) fn record_status(&mut self, status: CommandStatus, in_condition: bool) {
        let negated = std::mem::take(&mut self.negated);
        let status = match status {
            // The success of a command in a condition is unknown.
            CommandStatus::Fine if in_condition || negated => CommandStatus::Answer(Tristate::Maybe),
            CommandStatus::Answer(answer) if negated => CommandStatus::Answer(answer.not()),
            other => other,
        };
        self.status = match (self.gate, self.join) {
            (Tristate::No, _) => return,
            (Tristate::Yes, _) | (_, ListOperator::First) => status,
            (Tristate::Maybe, ListOperator::And) => match status {
                CommandStatus::Answer(Tristate::No) => status,
                _ => CommandStatus::Answer(Tristate::Maybe),
            },
            (Tristate::Maybe, ListOperator::Or) => match status {
                CommandStatus::Fine | CommandStatus::Answer(Tristate::Yes) => status,
                CommandStatus::Answer(_) => CommandStatus::Answer(Tristate::Maybe),
            },
        };
    }
}
