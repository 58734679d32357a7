//! Checks the examples of rule pages: each must have exactly the findings that its page promises.

mod check;
mod example_input;
mod page_template;

pub use self::check::{ExampleResult, ExpectedVerdict, check_page};
pub use self::example_input::judge_example;
pub use self::page_template::page_template;
