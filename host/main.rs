//! The program: hands the command line to `cli` and its answer to the shell.

fn main() -> std::process::ExitCode {
    drivebay::cli::main()
}
