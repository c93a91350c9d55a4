/* Manual pages of tables that are made here, letter by letter. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/help/manual.h"
#include "cli/kit/command.h"
#include "tests/kit/suite.h"

static void expect_page(const char *table, const char *wanted)
{
    char *text, head[256];
    size_t n;
    json_error_t why;
    json_t *t = json_loads(table, 0, &why);
    FILE *out = open_memstream(&text, &n);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    strait_manual_print(out, t);
    fclose(out);
    /* .TH "NAME" 1 "date" "strait version" "User Commands" */
    snprintf(head, sizeof(head), "\" 1 \"%s\" \"strait " STRAIT_VERSION "\" \"User Commands\"\n",
             strait_commit_date());
    char *rest = strstr(text, head);
    CU_ASSERT_PTR_NOT_NULL_FATAL(rest);
    memmove(rest, rest + strlen(head), strlen(rest + strlen(head)) + 1);
    CU_ASSERT_STRING_EQUAL(text, wanted);
    free(text);
    json_decref(t);
}

/* What roff would take for requests, dashes and quotes is text; examples are those lines that begin
 * with two blanks; an empty line divides text. */
static void of_a_command(void)
{
    expect_page(
        "{\"command\": \"net try\", \"arguments\": \"FILE -- COMMAND\", \"summary\": "
        "\"Try it-all.\", \"options\": [{\"name\": \"keep-it\", \"letter\": \"k\", \"argument\": "
        "\"A-B\", \"doc\": \".5 of 'it'\"}, {\"name\": \"json\", \"doc\": \"lines\"}], "
        "\"notes\": \"First.\\nsecond `x^2` ~ \\\\.\\n\\nThird.\\n\\n  strait a\\n    "
        "-b\\nEnd.\\n\"}",
        ".TH \"STRAIT-NET-TRY.SH NAME\nstrait\\-net\\-try \\- Try it\\-all\n"
        ".SH SYNOPSIS\n\\fBstrait net try\\fR FILE [options] \\-\\- COMMAND\n"
        ".SH DESCRIPTION\nTry it\\-all.\n"
        ".SH OPTIONS\n.TP\n\\fB\\-k\\fR, \\fB\\-\\-keep\\-it\\fR \\fIA\\-B\\fR\n"
        "\\&.5 of \\(aqit\\(aq\n"
        ".TP\n\\fB\\-\\-json\\fR\nlines\n"
        ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nprint this and end\n"
        ".SH NOTES\nFirst.\nsecond \\(gax\\(ha2\\(ga \\(ti \\e.\n.PP\nThird.\n.PP\n.EX\n"
        "  strait a\n    \\-b\n.EE\n.PP\nEnd.\n"
        ".SH EXIT STATUS\n0 good; 1 failed, INVALID or outside tolerance; 2 usage or bad\n"
        "input; 3 this machine cannot.\n"
        ".SH SEE ALSO\n\\fBstrait\\fR(1)\n");
    expect_page("{\"command\": \"x\", \"arguments\": \"FILE\", \"summary\": \"No stop\", "
                "\"options\": [], \"notes\": \"  strait x\"}",
                ".TH \"STRAIT-X.SH NAME\nstrait\\-x \\- No stop\n"
                ".SH SYNOPSIS\n\\fBstrait x\\fR FILE\n"
                ".SH DESCRIPTION\nNo stop\n"
                ".SH OPTIONS\n.TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nprint this and end\n"
                ".SH NOTES\n.EX\n  strait x\n.EE\n"
                ".SH EXIT STATUS\n0 good; 1 failed, INVALID or outside tolerance; 2 usage or bad\n"
                "input; 3 this machine cannot.\n"
                ".SH SEE ALSO\n\\fBstrait\\fR(1)\n");
}

static void of_commands(void)
{
    expect_page("{\"command\": \"net\", \"commands\": [{\"name\": \"up\", \"summary\": \"Bring "
                "up.\"}, {\"name\": \"down\", \"summary\": \"Take down.\"}]}",
                ".TH \"STRAIT-NET.SH NAME\nstrait\\-net \\- commands with pages of their own\n"
                ".SH SYNOPSIS\n\\fBstrait net\\fR \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]\n"
                ".SH COMMANDS\n.TP\n\\fBstrait\\-net\\-up\\fR(1)\nBring up.\n"
                ".TP\n\\fBstrait\\-net\\-down\\fR(1)\nTake down.\n"
                ".SH EXIT STATUS\n0 good; 1 failed, INVALID or outside tolerance; 2 usage or bad\n"
                "input; 3 this machine cannot.\n"
                ".SH SEE ALSO\n\\fBstrait\\fR(1)\n");
}

static const struct strait_test tests[] = {
    {"a command's page has its options, its notes and their examples", of_a_command},
    {"a page of commands names their pages", of_commands},
};
STRAIT_SUITE("cli/help/manual", tests);
