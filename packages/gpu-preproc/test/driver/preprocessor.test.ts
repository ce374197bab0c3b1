import { describeTier } from '@zerohop/test-support';
import { preprocessorSuite } from '../suites/preprocessor-suite.js';
import { useFakeDriver } from '../support/fake-driver.js';

useFakeDriver();

describeTier('driver', 'Preprocessor on the fake driver', preprocessorSuite);
